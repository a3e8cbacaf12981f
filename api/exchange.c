/* See exchange.h. The order of the checks: token, path, method, role, query, headers, the size of
 * the body, the body. */
#include "api/exchange.h"

#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "api/listener.h"
#include "api/query.h"
#include "api/reply.h"
#include "api/routes.h"
#include "base/alloc.h"
#include "base/log.h"
#include "base/ulid.h"
#include "policy/name.h"
#include "policy/request.h"

#define BODY_MAX        ((size_t)1 << 20)  /* bytes */
#define CARRYING_MAX    ((size_t)8 << 20)  /* files or stdin ride along */
#define DISCARD_MAX     ((size_t)64 << 10) /* of a refused request, to keep its connection */
#define BODY_FIRST      ((size_t)4 << 10)  /* first buffer of a chunked body */
#define HEADER_TEXT_MAX 255                /* Idempotency-Key, If-Match */

/* ---- Life ---- */

struct bh_exchange *bh_exchange_new(struct bh_server *server, struct bh_client *client,
                                    struct MHD_Connection *connection, const char *target)
{
        struct bh_exchange *exchange = bh_alloc(sizeof(*exchange));

        exchange->server = server;
        exchange->client = client;
        exchange->connection = connection;
        exchange->target_text = bh_strdup(target);
        exchange->params = json_object();
        exchange->decoded.payload = -1;
        LIST_INSERT_HEAD(&server->exchanges, exchange, entry);
        return exchange;
}

void bh_exchange_free(struct bh_exchange *exchange)
{
        if (!exchange)
                return;
        if (exchange->call)
                bh_broker_cancel(exchange->server->broker, exchange->call);
        bh_client_watch(exchange->client, NULL, NULL);
        bh_transfer_leave(exchange->transfer);
        if (exchange->response)
                MHD_destroy_response(exchange->response);
        bh_http_problem_clear(&exchange->refusal);
        bh_body_clear(&exchange->decoded);
        bh_target_clear(&exchange->target);
        json_decref(exchange->params);
        free(exchange->target_text);
        free(exchange->body);
        LIST_REMOVE(exchange, entry);
        free(exchange);
}

const char *bh_exchange_header(const struct bh_exchange *exchange, const char *name)
{
        return MHD_lookup_connection_value(exchange->connection, MHD_HEADER_KIND, name);
}

void bh_exchange_suspend(struct bh_exchange *exchange)
{
        exchange->suspended = true;
        MHD_suspend_connection(exchange->connection);
}

void bh_exchange_resume(struct bh_exchange *exchange)
{
        if (!exchange->suspended)
                return;
        exchange->suspended = false;
        MHD_resume_connection(exchange->connection);
}

void bh_exchanges_cut(struct bh_server *server)
{
        struct bh_exchange *exchange;

        LIST_FOREACH (exchange, &server->exchanges, entry) {
                if (exchange->stream) /* else it waits for a reply */
                        bh_exchange_resume(exchange);
        }
}

/* ---- Checks. Each returns 0, or -1 and fills problem. ---- */

static void choose_request_id(struct bh_exchange *exchange)
{
        static const char allowed[] =
                "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
        const char *asked = bh_exchange_header(exchange, "X-Request-ID");
        size_t length = asked ? strlen(asked) : 0;

        if (length > 0 && length < BH_REQUEST_ID_SIZE && strspn(asked, allowed) == length)
                memcpy(exchange->request_id, asked, length + 1);
        else
                bh_id_make("req_", exchange->request_id);
}

/* With a client CA a TLS client must have shown a certificate that it signed. */
static int check_certificate(struct bh_exchange *exchange, struct bh_http_problem *problem)
{
        const union MHD_ConnectionInfo *tls =
                MHD_get_connection_info(exchange->connection, MHD_CONNECTION_INFO_GNUTLS_SESSION);
        gnutls_session_t session = tls ? tls->tls_session : NULL;
        unsigned int verdict = 0;

        if (!session || !bh_client_must_certify(exchange->client))
                return 0;
        if (gnutls_certificate_verify_peers2(session, &verdict) == GNUTLS_E_SUCCESS && verdict == 0)
                return 0;
        bh_http_problem_set(problem, 401, "client_certificate_required",
                            "this listener wants a certificate of its client CA");
        return -1;
}

/* Who asks. healthz and readyz are for all, so nobody is looked at there. */
static int check_token(struct bh_exchange *exchange, enum bh_role *ret_role,
                       struct bh_http_problem *problem)
{
        const struct bh_caller *caller = bh_callers_find(
                &exchange->server->callers, bh_exchange_header(exchange, "Authorization"));

        *ret_role = BH_ROLE_ANONYMOUS;
        if (caller) {
                *ret_role = caller->role;
                memcpy(exchange->token_sha256, caller->sha256, sizeof(exchange->token_sha256));
                return 0;
        }
        if (strcmp(exchange->target_text, "/healthz") == 0 ||
            strcmp(exchange->target_text, "/readyz") == 0)
                return 0;
        bh_http_problem_set(problem, 401, "unauthorized",
                            "a valid token is needed: Authorization: Bearer TOKEN");
        return -1;
}

static int check_route(struct bh_exchange *exchange, const char *method,
                       struct bh_http_problem *problem, char allow[BH_ALLOW_SIZE])
{
        struct bh_error error;

        if (bh_target_parse(exchange->target_text, &exchange->target, &error) < 0) {
                bh_http_problem_from_error(problem, &error, "invalid_request", 0);
                return -1;
        }
        switch (bh_route_find(method, &exchange->target, &exchange->route, exchange->params,
                              allow)) {
        case BH_ROUTE_FOUND:
                return 0;
        case BH_ROUTE_BAD_NAME:
                bh_http_problem_set(problem, 400, "invalid_request",
                                    "the path holds a malformed name or id");
                return -1;
        case BH_ROUTE_NO_METHOD:
                bh_http_problem_set(problem, 405, "method_not_allowed", "allowed here: %s", allow);
                return -1;
        case BH_ROUTE_NO_PATH:
                break;
        }
        bh_http_problem_set(problem, 404, "not_found", "no such path");
        return -1;
}

static int check_query(struct bh_exchange *exchange, struct bh_http_problem *problem)
{
        struct bh_error error;

        if (bh_query_parse(exchange->target.query, exchange->route->parameters, exchange->params,
                           &error) < 0) {
                bh_http_problem_from_error(problem, &error, "invalid_request", 0);
                return -1;
        }
        exchange->follow = json_is_true(json_object_get(exchange->params, "follow"));
        json_object_del(exchange->params, "follow");
        return 0;
}

/* Puts a header's text into params. */
static int take_header(struct bh_exchange *exchange, const char *name, const char *param,
                       struct bh_http_problem *problem)
{
        const char *value = bh_exchange_header(exchange, name);

        if (!value)
                return 0;
        if (value[0] == '\0' || strlen(value) > HEADER_TEXT_MAX || !bh_text_printable(value)) {
                bh_http_problem_set(problem, 400, "invalid_request",
                                    "%s must be 1 to %d printable characters", name,
                                    HEADER_TEXT_MAX);
                return -1;
        }
        /* NULL when it is not UTF-8. */
        if (json_object_set_new(exchange->params, param, json_string(value)) < 0) {
                bh_http_problem_set(problem, 400, "invalid_request", "%s is not UTF-8", name);
                return -1;
        }
        return 0;
}

static int check_headers(struct bh_exchange *exchange, struct bh_http_problem *problem)
{
        int flags = exchange->route->flags;
        const char *type = bh_exchange_header(exchange, "Content-Type");
        size_t length = type ? strcspn(type, "; \t") : 0;

        if ((flags & BH_ROUTE_IF_MATCH) &&
            take_header(exchange, "If-Match", "if_match", problem) < 0)
                return -1;
        if ((flags & BH_ROUTE_IDEMPOTENT) &&
            take_header(exchange, "Idempotency-Key", "idempotency_key", problem) < 0)
                return -1;
        if (!type || !(flags & (BH_ROUTE_BODY | BH_ROUTE_EXECUTION)))
                return 0;
        if (length != strlen("application/json") ||
            strncasecmp(type, "application/json", length) != 0) {
                bh_http_problem_set(problem, 415, "unsupported_media_type",
                                    "bodies are JSON: Content-Type: application/json");
                return -1;
        }
        return 0;
}

static int body_too_large(const struct bh_exchange *exchange, struct bh_http_problem *problem)
{
        bool carrying = exchange->route->flags & BH_ROUTE_EXECUTION;

        bh_http_problem_set(problem, 413, "body_too_large", "%s",
                            carrying ? "the body may have 8 MiB" : "the body may have 1 MiB");
        return -1;
}

/* The length that the client has announced; the inspector has seen that it is a number. */
static uint64_t announced_length(const struct bh_exchange *exchange)
{
        const char *text = bh_exchange_header(exchange, "Content-Length");

        return text ? strtoull(text, NULL, 10) : 0;
}

static int check_length(struct bh_exchange *exchange, struct bh_http_problem *problem)
{
        uint64_t length = announced_length(exchange);

        /* Held to the workspace's size by who writes there. */
        if (exchange->route->flags & BH_ROUTE_UPLOAD)
                return 0;
        exchange->body_limit =
                exchange->route->flags & BH_ROUTE_EXECUTION ? CARRYING_MAX : BODY_MAX;
        if (length > exchange->body_limit)
                return body_too_large(exchange, problem);
        exchange->body_capacity = length > 0 ? (size_t)length : BODY_FIRST;
        return 0;
}

static int check_role(const struct bh_exchange *exchange, enum bh_role role,
                      struct bh_http_problem *problem)
{
        if (bh_op_allows(exchange->route->op, role))
                return 0;
        bh_http_problem_set(problem, 403, "forbidden", "the role %s may not do this",
                            bh_role_name(role));
        return -1;
}

/* All that can be known from the head. */
static int check_head(struct bh_exchange *exchange, const char *method,
                      struct bh_http_problem *problem, char allow[BH_ALLOW_SIZE])
{
        enum bh_role role;

        if (!bh_client_head_inspected(exchange->client)) {
                bh_http_problem_set(problem, 500, "internal_error",
                                    "the request was not inspected");
                return -1;
        }
        if (check_certificate(exchange, problem) < 0 || check_token(exchange, &role, problem) < 0 ||
            check_route(exchange, method, problem, allow) < 0 ||
            check_role(exchange, role, problem) < 0 || check_query(exchange, problem) < 0 ||
            check_headers(exchange, problem) < 0 || check_length(exchange, problem) < 0)
                return -1;
        return 0;
}

/* ---- The way through libmicrohttpd ---- */

static enum MHD_Result send_answer(struct bh_exchange *exchange)
{
        enum MHD_Result result;

        if (!exchange->response)
                return MHD_NO;
        bh_client_answering(exchange->client);
        result = MHD_queue_response(exchange->connection, (unsigned int)exchange->status,
                                    exchange->response);
        MHD_destroy_response(exchange->response);
        exchange->response = NULL;
        exchange->state = BH_EXCHANGE_SENT;
        return result;
}

/* A refusal while the body is still to come. A small one is read and dropped; before a large one
 * or one that waits for "100 Continue" the answer comes at once, and the connection ends. */
static enum MHD_Result refuse_early(struct bh_exchange *exchange)
{
        uint64_t length = announced_length(exchange);
        bool chunked = bh_exchange_header(exchange, "Transfer-Encoding") != NULL;

        if (length == 0 && !chunked) {
                exchange->state = BH_EXCHANGE_READY;
                return MHD_YES;
        }
        if (length <= DISCARD_MAX && !bh_exchange_header(exchange, "Expect")) {
                exchange->state = BH_EXCHANGE_DISCARD;
                return MHD_YES;
        }
        bh_client_linger(exchange->client);
        return send_answer(exchange);
}

static int ask_broker(struct bh_exchange *exchange, struct bh_http_problem *problem);

/* The broker is asked before the body comes: it may refuse, and it says where the body goes. */
static int begin_upload(struct bh_exchange *exchange, struct bh_http_problem *problem)
{
        if (ask_broker(exchange, problem) < 0)
                return -1;
        exchange->state = BH_EXCHANGE_UPLOAD;
        return 0;
}

static enum MHD_Result begin(struct bh_exchange *exchange, const char *method)
{
        struct bh_http_problem *problem = &exchange->refusal;
        char allow[BH_ALLOW_SIZE];

        exchange->head = strcmp(method, "HEAD") == 0;
        choose_request_id(exchange);
        if (check_head(exchange, method, problem, allow) == 0) {
                exchange->state = BH_EXCHANGE_BODY;
                if (!(exchange->route->flags & BH_ROUTE_UPLOAD) ||
                    begin_upload(exchange, problem) == 0)
                        return MHD_YES;
        }
        bh_reply_problem(exchange, problem);
        if (problem->status == 405)
                bh_reply_header(exchange->response, "Allow", allow);
        return refuse_early(exchange);
}

/* The body's end was not seen, and an answer can no longer be queued in libmicrohttpd. */
static enum MHD_Result refuse_in_body(struct bh_exchange *exchange,
                                      const struct bh_http_problem *problem)
{
        bh_client_refuse(exchange->client, problem);
        return MHD_NO;
}

static enum MHD_Result take_body(struct bh_exchange *exchange, const char *data, size_t *size)
{
        struct bh_http_problem problem = {.status = 0};
        size_t need = exchange->body_size + *size;

        if (need > exchange->body_limit) {
                (void)body_too_large(exchange, &problem);
                return refuse_in_body(exchange, &problem);
        }
        if (!exchange->body || need > exchange->body_capacity) {
                if (need > exchange->body_capacity)
                        exchange->body_capacity = need * 2;
                exchange->body = bh_realloc_array(exchange->body, exchange->body_capacity + 1, 1);
        }
        memcpy(exchange->body + exchange->body_size, data, *size);
        exchange->body_size = need;
        *size = 0;
        return MHD_YES;
}

static enum MHD_Result discard_body(struct bh_exchange *exchange, size_t *size)
{
        exchange->discarded += *size;
        *size = 0;
        if (exchange->discarded <= DISCARD_MAX)
                return MHD_YES;
        return refuse_in_body(exchange, &exchange->refusal);
}

/* ---- To the broker and back ---- */

static void on_gone(void *context)
{
        struct bh_exchange *exchange = context;

        exchange->state = BH_EXCHANGE_GONE;
        bh_exchange_resume(exchange);
        bh_server_pump(exchange->server);
}

static bool reply_has_problem(struct bh_exchange *exchange, const json_t *message)
{
        int status = (int)json_integer_value(json_object_get(message, "status"));
        json_t *document = json_object_get(message, "problem");

        if (!json_is_object(document) && status >= 200 && status < 600)
                return false;
        bh_http_problem_from_reply(&exchange->refusal, status >= 400 && status < 600 ? status : 500,
                                   document);
        bh_reply_problem(exchange, &exchange->refusal);
        return true;
}

static void on_frame(void *context, struct bh_frame *frame)
{
        struct bh_exchange *exchange = context;
        bool uploads;

        if (exchange->stream) {
                bh_stream_event(exchange->stream, frame);
                return;
        }
        uploads = exchange->state == BH_EXCHANGE_UPLOAD;
        if (exchange->state != BH_EXCHANGE_WAIT && !uploads)
                return;
        if (!bh_exchange_watches(exchange))
                exchange->call = 0;
        if (!reply_has_problem(exchange, frame->message))
                exchange->route->answer(exchange, frame);
        else if (uploads)
                exchange->state = BH_EXCHANGE_DISCARD;
}

bool bh_exchange_watches(const struct bh_exchange *exchange)
{
        int flags = exchange->route->flags;

        return !exchange->head &&
               ((flags & BH_ROUTE_WATCH) || ((flags & BH_ROUTE_FOLLOW) && exchange->follow));
}

static int decode_body(struct bh_exchange *exchange, struct bh_http_problem *problem)
{
        bool carries = exchange->route->flags & BH_ROUTE_EXECUTION;
        int result;

        if (!carries && !(exchange->route->flags & BH_ROUTE_BODY))
                return 0;
        result = bh_body_decode(exchange->body ? exchange->body : "", exchange->body_size, carries,
                                &exchange->decoded, problem);
        free(exchange->body);
        exchange->body = NULL;
        if (result < 0)
                return -1;
        json_object_set(exchange->params, "body", exchange->decoded.json);
        if (carries && exchange->route->op == BH_OP_EXECUTION_CREATE)
                json_object_set_new(exchange->params, "body_digest",
                                    json_string(exchange->decoded.digest));
        return 0;
}

static int ask_broker(struct bh_exchange *exchange, struct bh_http_problem *problem)
{
        struct bh_broker_request request = {
                .op = bh_exchange_watches(exchange) ? BH_OP_EXECUTION_WATCH : exchange->route->op,
                .token_sha256 = exchange->token_sha256,
                .request_id = exchange->request_id,
                .params = exchange->params,
                .payload = exchange->decoded.payload,
        };
        struct bh_error error;
        int result = bh_broker_call(exchange->server->broker, &request, on_frame, exchange,
                                    &exchange->call, &error);

        bh_body_clear(&exchange->decoded);
        json_object_clear(exchange->params);
        if (result < 0) {
                bh_log_error("request", "not sent to the broker", &error);
                bh_http_problem_set(problem, 503, "unavailable",
                                    "the broker cannot be reached now");
        }
        return result;
}

/* The request is whole. */
static enum MHD_Result finish(struct bh_exchange *exchange)
{
        struct bh_http_problem problem = {.status = 0};
        bool waits = json_object_get(exchange->params, "wait_ms") != NULL;

        if (exchange->route->flags & BH_ROUTE_LOCAL) {
                exchange->route->answer(exchange, NULL);
                return send_answer(exchange);
        }
        if (decode_body(exchange, &problem) < 0 || ask_broker(exchange, &problem) < 0) {
                bh_reply_problem(exchange, &problem);
                bh_http_problem_clear(&problem);
                return send_answer(exchange);
        }
        exchange->state = BH_EXCHANGE_WAIT;
        bh_exchange_suspend(exchange);
        /* A client that closes its sending side after a request that is answered at once may
         * still be reading. */
        if (waits || bh_exchange_watches(exchange))
                bh_client_watch(exchange->client, on_gone, exchange);
        return MHD_YES;
}

enum MHD_Result bh_exchange_handle(struct bh_exchange *exchange, const char *method,
                                   const char *data, size_t *size)
{
        switch (exchange->state) {
        case BH_EXCHANGE_NEW:
                return begin(exchange, method);
        case BH_EXCHANGE_BODY:
                return *size > 0 ? take_body(exchange, data, size) : finish(exchange);
        case BH_EXCHANGE_UPLOAD:
                return bh_transfer_upload(exchange, data, size);
        case BH_EXCHANGE_DISCARD:
                return *size > 0 ? discard_body(exchange, size) : send_answer(exchange);
        case BH_EXCHANGE_READY:
                return send_answer(exchange);
        case BH_EXCHANGE_WAIT:
        case BH_EXCHANGE_SENT:
                return MHD_YES;
        case BH_EXCHANGE_GONE:
                break;
        }
        return MHD_NO;
}
