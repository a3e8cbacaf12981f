/* See http.h. */
#include "api/cli/http.h"

#include <arpa/inet.h>
#include <curl/curl.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/json.h"

#if defined(LIBCURL_VERSION_NUM) && LIBCURL_VERSION_NUM < 0x075500
#error "libcurl 7.85 or later is needed (CURLOPT_PROTOCOLS_STR, curl_easy_header)"
#endif

#define CONNECT_TIMEOUT_MS 5000L
#define POLL_MS            1000                /* libcurl's own timers are never later than this */
#define BODY_MAX           ((size_t)512 << 20) /* two streams at the largest output_bytes, in base64 */
#define USER_AGENT         "bulkhead/" BH_VERSION

BH_DEFINE_CLEANUP(CURLU *, bh_curl_url, curl_url_cleanup);

struct bh_http {
        CURL *easy;
        CURLM *multi;
        char *url;           /* as it was given */
        char *base;          /* scheme and authority, no slash at the end */
        char *socket;        /* path of the unix socket, or NULL */
        char *authorization; /* the header, or NULL */
        char *ca_file, *certificate, *key;
        int interrupt_fd;
        char reason[CURL_ERROR_SIZE];
};

struct transfer {
        struct bh_http *http;
        const struct bh_http_request *request;
        struct bh_http_response *response;
        struct bh_error *error;
        size_t allocated;
        bool failed; /* the sink or the cap said no: error is filled */
};

static bool is_loopback(const char *host)
{
        struct in_addr address;
        struct in6_addr address6;
        char plain[64];

        if (strcasecmp(host, "localhost") == 0)
                return true;
        if (inet_pton(AF_INET, host, &address) == 1)
                return (ntohl(address.s_addr) >> 24) == 127;
        if (host[0] != '[' || strlen(host) >= sizeof(plain))
                return false;
        snprintf(plain, sizeof(plain), "%.*s", (int)strlen(host) - 2, host + 1);
        return inet_pton(AF_INET6, plain, &address6) == 1 && IN6_IS_ADDR_LOOPBACK(&address6);
}

static int bad_url(const char *url, const char *why, struct bh_error *error)
{
        return bh_error_set(error, BH_ERROR_INVALID,
                            "cannot use the URL '%s': %s; it may be http://127.0.0.1:8460, "
                            "https://HOST or unix:/run/bulkhead/api.sock",
                            url, why);
}

/* Only scheme, host and port are taken from an http(s) URL: there is no place for more. */
static int parse_web_url(struct bh_http *http, struct bh_error *error)
{
        _cleanup_(bh_curl_url_cleanup) CURLU *url = curl_url();
        char *scheme = NULL, *host = NULL, *user = NULL, *path = NULL, *query = NULL;
        const char *why = NULL;

        if (url == NULL)
                bh_alloc_failed();
        if (curl_url_set(url, CURLUPART_URL, http->url, 0) != CURLUE_OK ||
            curl_url_get(url, CURLUPART_SCHEME, &scheme, 0) != CURLUE_OK ||
            curl_url_get(url, CURLUPART_HOST, &host, 0) != CURLUE_OK)
                return bad_url(http->url, "it is no URL", error);
        if (curl_url_get(url, CURLUPART_USER, &user, 0) == CURLUE_OK)
                why = "a user name has no place in it";
        else if (curl_url_get(url, CURLUPART_QUERY, &query, 0) == CURLUE_OK ||
                 (curl_url_get(url, CURLUPART_PATH, &path, 0) == CURLUE_OK &&
                  strcmp(path, "/") != 0))
                why = "nothing may follow the host and port";
        else if (strcmp(scheme, "http") != 0 && strcmp(scheme, "https") != 0)
                why = "its scheme is neither http, https nor unix";
        else if (strcmp(scheme, "http") == 0 && !is_loopback(host))
                why = "http to a host that is not loopback would send the token in the clear, "
                      "use https";
        curl_free(scheme);
        curl_free(host);
        curl_free(user);
        curl_free(path);
        curl_free(query);
        if (why != NULL)
                return bad_url(http->url, why, error);
        http->base = bh_strdup(http->url);
        if (http->base[strlen(http->base) - 1] == '/')
                http->base[strlen(http->base) - 1] = '\0';
        return 0;
}

static int parse_url(struct bh_http *http, struct bh_error *error)
{
        if (strncmp(http->url, "unix:", 5) != 0)
                return parse_web_url(http, error);
        if (http->url[5] != '/')
                return bad_url(http->url, "the socket's path must be absolute", error);
        http->socket = bh_strdup(http->url + 5);
        http->base = bh_strdup("http://bulkhead"); /* a Host header; no name is looked up */
        return 0;
}

/* What can stand in a header without ending it. */
static bool is_token(const char *token)
{
        if (token[0] == '\0')
                return false;
        for (; *token != '\0'; token++)
                if (*token <= ' ' || *token > '~')
                        return false;
        return true;
}

static char *copy(const char *text)
{
        return text == NULL ? NULL : bh_strdup(text);
}

int bh_http_open(const struct bh_http_endpoint *endpoint, struct bh_http **ret,
                 struct bh_error *error)
{
        _cleanup_(bh_http_cleanup) struct bh_http *http = bh_alloc(sizeof(*http));

        http->interrupt_fd = -1;
        http->url = bh_strdup(endpoint->url);
        if (parse_url(http, error) < 0)
                return -1;
        if (endpoint->token != NULL && !is_token(endpoint->token))
                return bh_error_set(error, BH_ERROR_INVALID,
                                    "the token is empty or holds characters that no token has");
        if (endpoint->token != NULL)
                http->authorization = bh_format("Authorization: Bearer %s", endpoint->token);
        http->ca_file = copy(endpoint->ca_file);
        http->certificate = copy(endpoint->certificate);
        http->key = copy(endpoint->key);
        http->easy = curl_easy_init();
        http->multi = curl_multi_init();
        if (http->easy == NULL || http->multi == NULL)
                bh_alloc_failed();
        *ret = bh_steal_ptr(&http);
        return 0;
}

void bh_http_free(struct bh_http *http)
{
        if (http == NULL)
                return;
        if (http->easy != NULL)
                curl_easy_cleanup(http->easy);
        if (http->multi != NULL)
                curl_multi_cleanup(http->multi);
        free(http->url);
        free(http->base);
        free(http->socket);
        free(http->authorization);
        free(http->ca_file);
        free(http->certificate);
        free(http->key);
        free(http);
}

void bh_http_interrupt_by(struct bh_http *http, int fd)
{
        http->interrupt_fd = fd;
}

static int collect(struct transfer *transfer, const char *bytes, size_t size)
{
        struct bh_http_response *response = transfer->response;

        if (response->body_size + size > BODY_MAX)
                return bh_error_set(transfer->error, BH_ERROR_PROTOCOL,
                                    "the answer has more than %zu bytes", BODY_MAX);
        if (response->body_size + size + 1 > transfer->allocated) {
                transfer->allocated = (response->body_size + size + 1) * 2;
                response->body = bh_realloc_array(response->body, transfer->allocated, 1);
        }
        memcpy(response->body + response->body_size, bytes, size);
        response->body_size += size;
        response->body[response->body_size] = '\0';
        return 0;
}

static size_t take_body(char *bytes, size_t unit, size_t count, void *context)
{
        struct transfer *transfer = context;
        const struct bh_http_request *request = transfer->request;
        long status = 0;
        int result;

        curl_easy_getinfo(transfer->http->easy, CURLINFO_RESPONSE_CODE, &status);
        if (request->sink != NULL && status / 100 == 2)
                result = request->sink(request->sink_context, bytes, unit * count, transfer->error);
        else
                result = collect(transfer, bytes, unit * count);
        transfer->failed = result < 0;
        return result < 0 ? CURL_WRITEFUNC_ERROR : unit * count;
}

static size_t give_body(char *buffer, size_t unit, size_t count, void *context)
{
        struct transfer *transfer = context;
        const struct bh_http_request *request = transfer->request;
        ssize_t got =
                request->source(request->source_context, buffer, unit * count, transfer->error);

        transfer->failed = got < 0;
        return got < 0 ? CURL_READFUNC_ABORT : (size_t)got;
}

static void add_header(struct curl_slist **list, const char *name, const char *value)
{
        if (value == NULL)
                return;

        _cleanup_free_ char *line = bh_format("%s: %s", name, value);
        struct curl_slist *longer = curl_slist_append(*list, line);

        if (longer == NULL)
                bh_alloc_failed();
        *list = longer;
}

static struct curl_slist *make_headers(const struct bh_http *http,
                                       const struct bh_http_request *request)
{
        struct curl_slist *list = NULL;

        if (http->authorization != NULL)
                add_header(&list, "Authorization", http->authorization + strlen("Authorization: "));
        add_header(&list, "Accept",
                   request->accept != NULL ? request->accept
                                           : "application/json, application/problem+json");
        add_header(&list, "Content-Type",
                   request->body != NULL     ? "application/json"
                   : request->source != NULL ? "application/octet-stream"
                                             : NULL);
        add_header(&list, "Idempotency-Key", request->idempotency_key);
        add_header(&list, "If-Match", request->if_match);
        add_header(&list, "Last-Event-ID", request->last_event_id);
        /* "Expect: 100-continue" would cost a round trip for nothing. */
        add_header(&list, "Expect", request->body != NULL || request->source != NULL ? "" : NULL);
        return list;
}

static void set_connection(const struct bh_http *http)
{
        CURL *easy = http->easy;

        curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
        curl_easy_setopt(easy, CURLOPT_PROXY, "");
        curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
        curl_easy_setopt(easy, CURLOPT_PATH_AS_IS, 1L);
        curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
        curl_easy_setopt(easy, CURLOPT_USERAGENT, USER_AGENT);
        curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, CONNECT_TIMEOUT_MS);
        curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, http->reason);
        if (http->socket != NULL)
                curl_easy_setopt(easy, CURLOPT_UNIX_SOCKET_PATH, http->socket);
        if (http->ca_file != NULL)
                curl_easy_setopt(easy, CURLOPT_CAINFO, http->ca_file);
        if (http->certificate != NULL) {
                curl_easy_setopt(easy, CURLOPT_SSLCERT, http->certificate);
                curl_easy_setopt(easy, CURLOPT_SSLKEY,
                                 http->key != NULL ? http->key : http->certificate);
        }
}

static int transport_error(const struct bh_http *http, CURLcode code, struct bh_error *error)
{
        long errnum = 0;
        const char *why = http->reason[0] != '\0' ? http->reason : curl_easy_strerror(code);

        curl_easy_getinfo(http->easy, CURLINFO_OS_ERRNO, &errnum);
        switch (code) {
        case CURLE_COULDNT_CONNECT:
                if (errnum != 0)
                        why = strerror((int)errnum);
                __attribute__((fallthrough));
        case CURLE_COULDNT_RESOLVE_HOST:
                return bh_error_set(error, BH_ERROR_UNAVAILABLE,
                                    "cannot reach the broker at %s (%s); start it with bulkheadd, "
                                    "or name it with --url or BULKHEAD_URL",
                                    http->url, why);
        case CURLE_SSL_CONNECT_ERROR:
        case CURLE_SSL_CACERT_BADFILE:
        case CURLE_SSL_CERTPROBLEM:
        case CURLE_PEER_FAILED_VERIFICATION:
                return bh_error_set(error, BH_ERROR_UNAVAILABLE,
                                    "no TLS with the broker at %s (%s); name who signed its "
                                    "certificate with --ca-file, and yours with --certificate",
                                    http->url, why);
        default:
                return bh_error_set(error, BH_ERROR_CLOSED,
                                    "the connection to the broker at %s broke (%s)", http->url,
                                    why);
        }
}

/* Runs the prepared transfer to its end or to the interrupt. */
static int perform(struct transfer *transfer)
{
        struct bh_http *http = transfer->http;
        struct curl_waitfd interrupt = {.fd = http->interrupt_fd, .events = CURL_WAIT_POLLIN};
        unsigned int watched = http->interrupt_fd >= 0 ? 1 : 0;
        int running = 1;

        while (running > 0) {
                if (curl_multi_perform(http->multi, &running) != CURLM_OK)
                        return bh_error_set(transfer->error, BH_ERROR_INTERNAL,
                                            "libcurl lost its own state");
                if (running == 0)
                        break;
                interrupt.revents = 0;
                curl_multi_poll(http->multi, &interrupt, watched, POLL_MS, NULL);
                if (watched != 0 && interrupt.revents != 0)
                        return bh_error_refused(transfer->error, "interrupted", "", "interrupted");
        }

        int left = 0;
        CURLMsg *message = curl_multi_info_read(http->multi, &left);
        CURLcode code = message != NULL ? message->data.result : CURLE_RECV_ERROR;

        if (transfer->failed)
                return -1;
        return code == CURLE_OK ? 0 : transport_error(http, code, transfer->error);
}

static char *header_of(CURL *easy, const char *name)
{
        struct curl_header *header = NULL;

        if (curl_easy_header(easy, name, 0, CURLH_HEADER, -1, &header) != CURLHE_OK)
                return NULL;
        return bh_strdup(header->value);
}

static void finish_response(const struct bh_http *http, struct bh_http_response *response)
{
        curl_easy_getinfo(http->easy, CURLINFO_RESPONSE_CODE, &response->status);
        response->etag = header_of(http->easy, "ETag");
        response->request_id = header_of(http->easy, "X-Request-ID");
        if (response->body == NULL)
                response->body = bh_strdup("");

        char *type = NULL;
        curl_easy_getinfo(http->easy, CURLINFO_CONTENT_TYPE, &type);
        if (type != NULL && strstr(type, "json") != NULL &&
            bh_json_parse(response->body, response->body_size, &response->json, NULL) < 0)
                response->json = NULL;
}

int bh_http_call(struct bh_http *http, const struct bh_http_request *request,
                 struct bh_http_response *ret, struct bh_error *error)
{
        struct bh_http_response response = {0};
        struct bh_error own = {0};
        struct transfer transfer = {http, request, &response, error != NULL ? error : &own,
                                    0,    false};
        _cleanup_free_ char *url = bh_format("%s%s", http->base, request->path);
        _cleanup_free_ char *body = request->body != NULL ? bh_json_text(request->body) : NULL;
        struct curl_slist *headers = make_headers(http, request);

        curl_easy_reset(http->easy);
        http->reason[0] = '\0';
        set_connection(http);
        curl_easy_setopt(http->easy, CURLOPT_URL, url);
        curl_easy_setopt(http->easy, CURLOPT_CUSTOMREQUEST, request->method);
        curl_easy_setopt(http->easy, CURLOPT_HTTPHEADER, headers);
        curl_easy_setopt(http->easy, CURLOPT_WRITEFUNCTION, take_body);
        curl_easy_setopt(http->easy, CURLOPT_WRITEDATA, &transfer);
        curl_easy_setopt(http->easy, CURLOPT_TIMEOUT_MS, (long)request->timeout_ms);
        if (request->stall_seconds != 0) {
                curl_easy_setopt(http->easy, CURLOPT_LOW_SPEED_LIMIT, 1L);
                curl_easy_setopt(http->easy, CURLOPT_LOW_SPEED_TIME, request->stall_seconds);
        }
        if (body != NULL) {
                curl_easy_setopt(http->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)strlen(body));
                curl_easy_setopt(http->easy, CURLOPT_POSTFIELDS, body);
        }
        if (request->source != NULL) {
                curl_easy_setopt(http->easy, CURLOPT_UPLOAD, 1L); /* in chunks */
                curl_easy_setopt(http->easy, CURLOPT_READFUNCTION, give_body);
                curl_easy_setopt(http->easy, CURLOPT_READDATA, &transfer);
        }
        curl_multi_add_handle(http->multi, http->easy);
        int result = perform(&transfer);
        if (result == 0)
                finish_response(http, &response);
        curl_multi_remove_handle(http->multi, http->easy);
        curl_slist_free_all(headers);
        if (result < 0) {
                bh_http_response_clear(&response);
                return -1;
        }
        *ret = response;
        return 0;
}

void bh_http_response_clear(struct bh_http_response *response)
{
        free(response->body);
        json_decref(response->json);
        free(response->etag);
        free(response->request_id);
        *response = (struct bh_http_response){0};
}

char *bh_http_escape(const char *text)
{
        char *escaped = curl_easy_escape(NULL, text, (int)strlen(text));

        if (escaped == NULL)
                bh_alloc_failed();

        char *copied = bh_strdup(escaped);
        curl_free(escaped);
        return copied;
}
