/* See cli.h. How the broker and the token are found, and what a refusal looks like. */
#include "api/cli/cli.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include "api/cli/member.h"
#include "api/cli/text.h"
#include "base/alloc.h"
#include "base/fd.h"

#define DEFAULT_URL         "unix:/run/bulkhead/api.sock"
#define OPERATOR_TOKEN_FILE "/var/lib/bulkhead/tokens/operator"
#define TOKEN_FILE_MAX      4096 /* bytes */
#define PAGE_MAX            200  /* the largest ?limit= */

/* What to do next, by the problem's code, else by its status. */
static const struct {
        const char *code;
        long status;
        const char *hint;
} hints[] = {
        {"tier_unavailable", 0, "'bulkhead doctor' says what is missing on that host"},
        {"limit_unenforceable", 0, "'bulkhead doctor' says what that host can enforce"},
        {"workspace_busy", 0, "wait for the execution that writes it, or kill it"},
        {"workspace_missing", 0, "'bulkhead workspaces create NAME --size SIZE' makes one"},
        {"agent_busy", 0, "wait for its executions, or kill them with --force"},
        {"mount_not_allowed", 0, "'bulkhead policy show' lists the allowed roots"},
        {"review_stale", 0, "'bulkhead agents review NAME --note …' records a review"},
        {NULL, 401, "name a valid token with --token-file or BULKHEAD_TOKEN_FILE"},
        {NULL, 403, "use a token whose role may do this"},
        {NULL, 412, "it has changed since: look at it again, then repeat"},
        {NULL, 429, "wait a little and repeat"},
};

static const char *setting(const struct bh_cli *cli, const char *option, const char *variable)
{
        const char *value = bh_options_text(cli->options, option);

        if (value == NULL)
                value = getenv(variable);
        return value != NULL && value[0] != '\0' ? value : NULL;
}

const char *bh_cli_argument(const struct bh_cli *cli, size_t index)
{
        return index < cli->options->argument_count ? cli->options->arguments[index] : NULL;
}

const char *bh_cli_url(const struct bh_cli *cli)
{
        const char *url = setting(cli, "url", "BULKHEAD_URL");

        return url != NULL ? url : DEFAULT_URL;
}

int bh_cli_token(const struct bh_cli *cli, char **ret_token, char **ret_source,
                 struct bh_error *error)
{
        _cleanup_free_ char *token = NULL;
        const char *file = setting(cli, "token-file", "BULKHEAD_TOKEN_FILE");
        const char *value = getenv("BULKHEAD_TOKEN");
        size_t size = 0;

        if (file == NULL && value != NULL && value[0] != '\0') {
                *ret_token = bh_strdup(value);
                *ret_source = bh_strdup("BULKHEAD_TOKEN");
                return 0;
        }
        if (file == NULL && geteuid() == 0 && access(OPERATOR_TOKEN_FILE, R_OK) == 0)
                file = OPERATOR_TOKEN_FILE;
        if (file == NULL) {
                *ret_token = NULL;
                *ret_source = NULL;
                return 0;
        }
        if (bh_read_file(AT_FDCWD, file, TOKEN_FILE_MAX, &token, &size, error) < 0)
                return bh_error_prefix(error, "token file");
        token[strcspn(token, "\r\n")] = '\0';
        *ret_token = bh_steal_ptr(&token);
        *ret_source = bh_strdup(file);
        return 0;
}

int bh_cli_connect(struct bh_cli *cli, struct bh_error *error)
{
        _cleanup_free_ char *token = NULL, *source = NULL;

        if (cli->http != NULL)
                return 0;
        if (bh_cli_token(cli, &token, &source, error) < 0)
                return -1;

        struct bh_http_endpoint endpoint = {
                .url = bh_cli_url(cli),
                .token = token,
                .ca_file = setting(cli, "ca-file", "BULKHEAD_CA_FILE"),
                .certificate = setting(cli, "certificate", "BULKHEAD_CERTIFICATE"),
                .key = setting(cli, "key", "BULKHEAD_KEY"),
        };
        return bh_http_open(&endpoint, &cli->http, error);
}

int bh_cli_call(struct bh_cli *cli, const struct bh_http_request *request,
                struct bh_http_response *ret, struct bh_error *error)
{
        _cleanup_response_ struct bh_http_response response = {0};

        if (bh_cli_connect(cli, error) < 0 ||
            bh_http_call(cli->http, request, &response, error) < 0)
                return -1;
        if (response.status / 100 != 2)
                return bh_cli_problem(cli, &response, error);
        *ret = response;
        response = (struct bh_http_response){0};
        return 0;
}

int bh_cli_get(struct bh_cli *cli, const char *path, json_t **ret, struct bh_error *error)
{
        _cleanup_response_ struct bh_http_response response = {0};
        struct bh_http_request request = {
                .method = "GET", .path = path, .timeout_ms = BH_CALL_TIMEOUT_MS};

        if (bh_cli_call(cli, &request, &response, error) < 0)
                return -1;
        if (response.json == NULL)
                return bh_error_set(error, BH_ERROR_PROTOCOL,
                                    "the answer of %s to GET %s is no JSON; is that a broker?",
                                    bh_cli_url(cli), path);
        *ret = bh_steal_ptr(&response.json);
        return 0;
}

int bh_cli_list(struct bh_cli *cli, const char *path, int64_t max, json_t **ret, bool *ret_more,
                struct bh_error *error)
{
        _cleanup_json_ json_t *all = json_array();
        _cleanup_free_ char *cursor = NULL;

        do {
                _cleanup_json_ json_t *page = NULL;
                int64_t left = max - (int64_t)json_array_size(all);
                _cleanup_free_ char *url = bh_format(
                        "%s%slimit=%" PRId64 "%s%s", path, strchr(path, '?') != NULL ? "&" : "?",
                        left < PAGE_MAX ? left : PAGE_MAX, cursor != NULL ? "&cursor=" : "",
                        cursor != NULL ? cursor : "");

                if (bh_cli_get(cli, url, &page, error) < 0)
                        return -1;

                size_t before = json_array_size(all);
                json_array_extend(all, json_object_get(page, "data"));
                free(bh_steal_ptr(&cursor));
                /* A page without members that promises more would go on for ever. */
                if (bh_member_text(page, "next_cursor") != NULL && json_array_size(all) > before)
                        cursor = bh_http_escape(bh_member_text(page, "next_cursor"));
        } while (cursor != NULL && (int64_t)json_array_size(all) < max);
        *ret_more = cursor != NULL;
        *ret = bh_steal_ptr(&all);
        return 0;
}

int bh_cli_delete(struct bh_cli *cli, const char *collection, const char *name, const char *query,
                  struct bh_error *error)
{
        _cleanup_free_ char *path = NULL;
        _cleanup_response_ struct bh_http_response response = {0};
        struct bh_http_request request = {.method = "DELETE", .timeout_ms = BH_CALL_TIMEOUT_MS};

        if (bh_cli_path(collection, name, query, &path, error) < 0)
                return -1;
        request.path = path;
        if (bh_cli_call(cli, &request, &response, error) < 0)
                return -1;
        if (cli->json && response.json != NULL)
                bh_cli_json(cli, response.json);
        return 0;
}

int bh_cli_path(const char *collection, const char *name, const char *tail, char **ret,
                struct bh_error *error)
{
        if (name == NULL || name[0] == '\0')
                return bh_error_set(error, BH_ERROR_INVALID, "a name is empty");

        _cleanup_free_ char *escaped = bh_http_escape(name);
        *ret = bh_format("/v1/%s/%s%s", collection, escaped, tail);
        return 0;
}

static const char *hint_for(const char *code, long status)
{
        for (size_t index = 0; index < sizeof(hints) / sizeof(hints[0]); index++)
                if (hints[index].code != NULL ? code != NULL && strcmp(code, hints[index].code) == 0
                                              : status == hints[index].status)
                        return hints[index].hint;
        return NULL;
}

/* The pointer of a problem's only error, when its text is the problem's own; else NULL. */
static const char *only_pointer(const json_t *errors, const char *told)
{
        const json_t *only = json_array_get(errors, 0);
        const char *pointer = bh_member_text(only, "pointer");
        const char *reason = bh_member_text(only, "reason");

        if (json_array_size(errors) != 1 || pointer == NULL || pointer[0] == '\0')
                return NULL;
        return reason == NULL || strcmp(reason, told) == 0 ? pointer : NULL;
}

static void say_errors(struct bh_cli *cli, const json_t *errors)
{
        size_t index;
        const json_t *item;

        json_array_foreach (errors, index, item) {
                const char *pointer = bh_member_text(item, "pointer");
                const char *reason = bh_member_text(item, "reason");
                _cleanup_free_ char *line = bh_format(
                        "%s: %s", pointer != NULL && pointer[0] != '\0' ? pointer : "the document",
                        reason != NULL ? reason : "refused");
                _cleanup_free_ char *shown = bh_text_escape(line, strlen(line));

                fprintf(cli->err, "  at %s\n", shown);
        }
}

int bh_cli_problem(struct bh_cli *cli, const struct bh_http_response *response,
                   struct bh_error *error)
{
        const char *code = bh_member_text(response->json, "code");
        const char *what = bh_member_text(response->json, "detail");
        const char *request_id = bh_member_text(response->json, "request_id");
        const char *hint = hint_for(code, response->status);
        const json_t *errors = bh_member(response->json, "errors");
        const char *pointer;

        if (what == NULL || what[0] == '\0')
                what = bh_member_text(response->json, "title");
        if (what == NULL)
                what = "the broker refused without a reason";
        if (request_id == NULL)
                request_id = response->request_id;
        pointer = only_pointer(errors, what);
        fflush(cli->out);
        bh_cli_say(cli, "%s%s%s (%ld%s%s)%s%s", pointer != NULL ? pointer : "",
                   pointer != NULL ? ": " : "", what, response->status, code != NULL ? " " : "",
                   code != NULL ? code : "", hint != NULL ? "; " : "", hint != NULL ? hint : "");
        if (pointer == NULL)
                say_errors(cli, errors);
        if (request_id != NULL) {
                _cleanup_free_ char *shown = bh_text_escape(request_id, strlen(request_id));

                fprintf(cli->err, "  request %s\n", shown);
        }
        if (cli->json && response->json != NULL)
                bh_cli_json(cli, response->json);
        /* The reason stays for callers; without a message nothing more is told. */
        bh_error_refused(error, code != NULL ? code : "refused", "", "%s", "");
        return -1;
}

void bh_cli_say(struct bh_cli *cli, const char *format, ...)
{
        va_list arguments;

        va_start(arguments, format);
        _cleanup_free_ char *line = bh_vformat(format, arguments);
        va_end(arguments);

        _cleanup_free_ char *shown = bh_text_escape(line, strlen(line));
        fprintf(cli->err, "%sbulkhead:%s %s\n", cli->err_colour ? "\033[31m" : "",
                cli->err_colour ? "\033[0m" : "", shown);
}

void bh_cli_say_error(struct bh_cli *cli, const struct bh_error *error)
{
        if (error->message[0] != '\0')
                bh_cli_say(cli, "%s", error->message);
}

void bh_cli_json(struct bh_cli *cli, const json_t *json)
{
        json_dumpf(json, cli->out, JSON_INDENT(2) | JSON_ENSURE_ASCII | JSON_ENCODE_ANY);
        fputc('\n', cli->out);
}

void bh_cli_table(struct bh_cli *cli, const struct bh_table *table)
{
        bh_table_write(table, cli->columns, cli->out_colour, cli->out);
}

void bh_cli_heading(struct bh_cli *cli, const char *text)
{
        fprintf(cli->out, "\n%s%s%s\n", cli->out_colour ? "\033[1m" : "", text,
                cli->out_colour ? "\033[0m" : "");
}

void bh_cli_json_list(struct bh_cli *cli, const json_t *items)
{
        _cleanup_json_ json_t *page = json_pack("{sOsn}", "data", items, "next_cursor");

        if (page == NULL)
                bh_alloc_failed();
        bh_cli_json(cli, page);
}

void bh_cli_list_end(struct bh_cli *cli, const struct bh_table *table, const char *what, bool more)
{
        if (bh_table_rows(table) == 0) {
                fprintf(cli->out, "no %s\n", what);
                return;
        }
        bh_cli_table(cli, table);
        if (more)
                bh_cli_say(cli, "there are more %s; --limit shows them", what);
}

void bh_cli_reasons(struct bh_cli *cli, const json_t *reasons)
{
        static const char *const headers[] = {"RULE", "TIER", "BECAUSE OF", "WHY", NULL};
        _cleanup_(bh_table_cleanup) struct bh_table *table = bh_table_new(headers, 0);
        size_t index;
        const json_t *reason;

        json_array_foreach (reasons, index, reason) {
                bh_table_cell(table, bh_member_text(reason, "rule"));
                bh_table_cell(table, bh_member_text(reason, "tier"));
                bh_table_cell_take(table, bh_member_join(bh_member(reason, "capabilities")));
                bh_table_cell(table, bh_member_text(reason, "text"));
        }
        bh_table_wrap(table);
        bh_cli_heading(cli, "Why this tier");
        bh_cli_table(cli, table);
}
