/* `bulkhead agents …`: declared capability sets and their reviews. */
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "api/cli/cli.h"
#include "api/cli/document.h"
#include "api/cli/member.h"
#include "base/alloc.h"

#define LIST_DEFAULT 50

static int list(struct bh_cli *cli, struct bh_error *error)
{
        static const char *const headers[] = {"AGENT",    "OWNER",        "GENERATION", "TIER",
                                              "REVIEWED", "CAPABILITIES", NULL};
        _cleanup_json_ json_t *agents = NULL;
        _cleanup_(bh_table_cleanup) struct bh_table *table = bh_table_new(headers, 0);
        bool more = false;
        size_t index;
        const json_t *agent;

        if (bh_cli_list(cli, "/v1/agents", bh_options_number(cli->options, "limit", LIST_DEFAULT),
                        &agents, &more, error) < 0)
                return -1;
        if (cli->json) {
                bh_cli_json_list(cli, agents);
                return BH_EXIT_OK;
        }
        json_array_foreach (agents, index, agent) {
                bh_table_cell(table, bh_member_text(agent, "agent"));
                bh_table_cell(table, bh_member_text(agent, "owner"));
                bh_table_format(table, "%" PRId64, bh_member_integer(agent, "generation", 0));
                bh_table_cell(table, bh_member_text(agent, "required_tier"));
                bh_table_cell(table, bh_member_true(agent, "currency.stale") ? "no" : "yes");
                bh_table_cell_take(table, bh_member_join(bh_member(agent, "capabilities")));
        }
        bh_cli_list_end(cli, table, "agents", more);
        return BH_EXIT_OK;
}

/* "host:443,8443 GET /simple/…" of one egress rule. */
static char *egress_text(const json_t *rule)
{
        const char *where = bh_member_text(rule, "host");
        _cleanup_free_ char *ports = json_dumps(bh_member(rule, "ports"), JSON_COMPACT);
        _cleanup_free_ char *methods = bh_member_join(bh_member(rule, "methods"));
        _cleanup_free_ char *paths = bh_member_join(bh_member(rule, "paths"));

        if (where == NULL)
                where = bh_member_text(rule, "cidr");
        return bh_format("%s ports %s%s%s%s%s", where != NULL ? where : "?",
                         ports != NULL ? ports : "?", methods[0] != '\0' ? " methods " : "",
                         methods, paths[0] != '\0' ? " paths " : "", paths);
}

static void show_scopes(struct bh_table *table, const json_t *agent)
{
        size_t index;
        const json_t *item;

        json_array_foreach (bh_member(agent, "egress"), index, item) {
                bh_table_cell(table, index == 0 ? "egress" : " ");
                bh_table_cell_take(table, egress_text(item));
        }
        json_array_foreach (bh_member(agent, "mounts"), index, item) {
                const char *why = bh_member_text(item, "justification");

                bh_table_cell(table, index == 0 ? "mounts" : " ");
                bh_table_format(table, "%s at %s, %s%s%s", bh_member_text(item, "source"),
                                bh_member_text(item, "target"), bh_member_text(item, "mode"),
                                why != NULL ? ": " : "", why != NULL ? why : "");
        }
        json_array_foreach (bh_member(agent, "secrets"), index, item) {
                _cleanup_free_ char *hosts = bh_member_join(bh_member(item, "hosts"));

                bh_table_cell(table, index == 0 ? "secrets" : " ");
                bh_table_format(table, "%s for %s", bh_member_text(item, "name"), hosts);
        }
}

static void show_review(struct bh_table *table, const json_t *agent)
{
        _cleanup_free_ char *grown =
                bh_member_join(bh_member(agent, "currency.grown_since_review"));
        const char *when = bh_member_text(agent, "currency.reviewed_at");

        bh_table_cell(table, "reviewed");
        if (when == NULL)
                bh_table_cell(table, "never");
        else
                bh_table_format(
                        table, "%s by %s%s", when, bh_member_text(agent, "currency.reviewed_by"),
                        bh_member_true(agent, "currency.stale") ? ", no longer current" : "");
        if (grown[0] != '\0') {
                bh_table_cell(table, "grown since");
                bh_table_cell(table, grown);
        }
}

static void show_agent(struct bh_cli *cli, const json_t *agent)
{
        static const char *const texts[] = {
                "agent",      "tenant",     "owner", "required_tier", "capability_digest",
                "created_at", "updated_at", NULL};
        _cleanup_(bh_table_cleanup) struct bh_table *table = bh_table_new(NULL, 2);

        for (size_t index = 0; texts[index] != NULL; index++) {
                bh_table_cell(table, texts[index]);
                bh_table_cell(table, bh_member_text(agent, texts[index]));
        }
        bh_table_cell(table, "generation");
        bh_table_format(table, "%" PRId64, bh_member_integer(agent, "generation", 0));
        bh_table_cell(table, "capabilities");
        bh_table_cell_take(table, bh_member_join(bh_member(agent, "capabilities")));
        show_scopes(table, agent);
        bh_table_cell(table, "labels");
        bh_table_cell_take(table, bh_member_pairs(bh_member(agent, "labels")));
        show_review(table, agent);
        bh_cli_table(cli, table);
        bh_cli_reasons(cli, bh_member(agent, "reasons"));
}

static int show(struct bh_cli *cli, struct bh_error *error)
{
        _cleanup_json_ json_t *agent = NULL;
        _cleanup_free_ char *path = NULL;

        if (bh_cli_path("agents", bh_cli_argument(cli, 0), "", &path, error) < 0 ||
            bh_cli_get(cli, path, &agent, error) < 0)
                return -1;
        if (cli->json)
                bh_cli_json(cli, agent);
        else
                show_agent(cli, agent);
        return BH_EXIT_OK;
}

/* The name beside the capability set, by --name or as the member "agent" of the file. */
static int take_name(struct bh_cli *cli, json_t *body, char **ret, struct bh_error *error)
{
        const char *member = bh_member_text(body, "agent");
        const char *option = bh_options_text(cli->options, "name");

        if (!json_is_object(body))
                return bh_error_set(error, BH_ERROR_INVALID, "the file holds no JSON object");
        if (option != NULL && member != NULL && strcmp(option, member) != 0)
                return bh_error_set(error, BH_ERROR_INVALID, "--name says '%s', the file says '%s'",
                                    option, member);
        if (option == NULL && member == NULL)
                return bh_error_set(error, BH_ERROR_INVALID,
                                    "which agent? give --name, or \"agent\" in the file");
        *ret = bh_strdup(option != NULL ? option : member);
        json_object_del(body, "agent");
        return 0;
}

/* What the agent's generation is now; 0 when there is none, or it cannot be read. */
static int generation_of(struct bh_cli *cli, const char *path, int64_t *ret, struct bh_error *error)
{
        _cleanup_response_ struct bh_http_response response = {0};
        struct bh_http_request request = {
                .method = "GET", .path = path, .timeout_ms = BH_CALL_TIMEOUT_MS};

        if (bh_cli_connect(cli, error) < 0 ||
            bh_http_call(cli->http, &request, &response, error) < 0)
                return -1;
        *ret = response.status == 200 ? bh_member_integer(response.json, "generation", 0) : 0;
        return 0;
}

static int apply(struct bh_cli *cli, struct bh_error *error)
{
        _cleanup_json_ json_t *body = NULL;
        _cleanup_free_ char *name = NULL, *path = NULL;
        _cleanup_response_ struct bh_http_response response = {0};
        struct bh_http_request request = {.method = "PUT", .timeout_ms = BH_CALL_TIMEOUT_MS};
        int64_t before = 0, generation;

        if (bh_document_read(bh_cli_argument(cli, 0), &body, error) < 0 ||
            take_name(cli, body, &name, error) < 0 ||
            bh_cli_path("agents", name, "", &path, error) < 0)
                return -1;
        request.path = path;
        request.body = body;
        request.if_match = bh_options_text(cli->options, "if-match");
        if ((!cli->json && generation_of(cli, path, &before, error) < 0) ||
            bh_cli_call(cli, &request, &response, error) < 0)
                return -1;
        generation = bh_member_integer(response.json, "generation", 0);
        if (cli->json)
                bh_cli_json(cli, response.json);
        else
                fprintf(cli->out, "%s: generation %" PRId64 ", needs tier %s (%s)\n", name,
                        generation, bh_member_text(response.json, "required_tier"),
                        response.status == 201 ? "created"
                        : generation == before ? "unchanged"
                                               : "replaced");
        return BH_EXIT_OK;
}

static int rm(struct bh_cli *cli, struct bh_error *error)
{
        bool force = bh_options_flag(cli->options, "force");

        for (size_t index = 0; index < cli->options->argument_count; index++)
                if (bh_cli_delete(cli, "agents", bh_cli_argument(cli, index),
                                  force ? "?force=true" : "", error) < 0)
                        return -1;
        return BH_EXIT_OK;
}

static int review(struct bh_cli *cli, struct bh_error *error)
{
        _cleanup_json_ json_t *body = json_object();
        _cleanup_free_ char *path = NULL;
        _cleanup_response_ struct bh_http_response response = {0};
        const char *name = bh_cli_argument(cli, 0);
        int64_t days = bh_options_number(cli->options, "expires-in-days", 0);
        struct bh_http_request request = {
                .method = "POST", .body = body, .timeout_ms = BH_CALL_TIMEOUT_MS};

        if (json_object_set_new(body, "note", json_string(bh_options_text(cli->options, "note"))) <
            0)
                return bh_error_set(error, BH_ERROR_INVALID, "--note is not UTF-8");
        if (days != 0)
                json_object_set_new(body, "expires_in_days", json_integer(days));
        if (bh_cli_path("agents", name, "/reviews", &path, error) < 0)
                return -1;
        request.path = path;
        if (bh_cli_call(cli, &request, &response, error) < 0)
                return -1;
        if (cli->json)
                bh_cli_json(cli, response.json);
        else
                fprintf(cli->out, "%s: the boundary is reviewed against its present capabilities\n",
                        name);
        return BH_EXIT_OK;
}

static int reviews(struct bh_cli *cli, struct bh_error *error)
{
        static const char *const headers[] = {"REVIEWED", "BY", "EXPIRES", "DIGEST", "NOTE", NULL};
        _cleanup_json_ json_t *found = NULL;
        _cleanup_free_ char *path = NULL;
        _cleanup_(bh_table_cleanup) struct bh_table *table = bh_table_new(headers, 0);
        bool more = false;
        size_t index;
        const json_t *item;

        if (bh_cli_path("agents", bh_cli_argument(cli, 0), "/reviews", &path, error) < 0 ||
            bh_cli_list(cli, path, bh_options_number(cli->options, "limit", LIST_DEFAULT), &found,
                        &more, error) < 0)
                return -1;
        if (cli->json) {
                bh_cli_json_list(cli, found);
                return BH_EXIT_OK;
        }
        json_array_foreach (found, index, item) {
                bh_table_cell(table, bh_member_text(item, "reviewed_at"));
                bh_table_cell(table, bh_member_text(item, "reviewed_by"));
                bh_table_cell(table, bh_member_text(item, "expires_at"));
                bh_table_cell(table, bh_member_text(item, "capability_digest"));
                bh_table_cell(table, bh_member_text(item, "note"));
        }
        bh_cli_list_end(cli, table, "reviews", more);
        return BH_EXIT_OK;
}

static const struct bh_option list_options[] = {BH_LIST_OPTIONS, {0}};
static const struct bh_option apply_options[] = {
        {.name = "name",
         .letter = 'n',
         .kind = BH_OPTION_TEXT,
         .value = "NAME",
         .help = "the agent, when the file has no \"agent\""},
        {.name = "if-match",
         .kind = BH_OPTION_TEXT,
         .value = "ETAG",
         .help = "only if it has not changed since it had this ETag"},
        {0},
};
static const struct bh_option rm_options[] = {
        {.name = "force", .kind = BH_OPTION_FLAG, .help = "kill its running executions first"},
        {0},
};
static const struct bh_option review_options[] = {
        {.name = "note",
         .kind = BH_OPTION_TEXT,
         .value = "TEXT",
         .help = "what was looked at",
         .required = true},
        {.name = "expires-in-days",
         .kind = BH_OPTION_COUNT,
         .value = "N",
         .help = "review again after this"},
        {0},
};

const struct bh_command bh_commands_agents[] = {
        {.words = {"agents", "list"},
         .arguments = "",
         .summary = "list the declared agents",
         .example = "bulkhead agents list",
         .options = list_options,
         .run = list},
        {.words = {"agents", "show"},
         .arguments = "NAME",
         .least = 1,
         .most = 1,
         .summary = "one agent: capabilities, scopes, required tier and why",
         .example = "bulkhead agents show counter",
         .run = show},
        {.words = {"agents", "apply"},
         .arguments = "FILE",
         .least = 1,
         .most = 1,
         .summary = "declare an agent, or replace what it may do",
         .text = "FILE is JSON as in PUT /v1/agents/{agent}, or - for standard input. Running "
                 "executions\nthat are below the tier which the new set needs are ended as the "
                 "policy says.",
         .example = "echo '{\"agent\": \"counter\", \"owner\": \"me@example.com\", "
                    "\"capabilities\": [\"command.run\"]}' | bulkhead agents apply -",
         .options = apply_options,
         .run = apply},
        {.words = {"agents", "rm"},
         .arguments = "NAME...",
         .least = 1,
         .most = SIZE_MAX,
         .summary = "remove agents",
         .example = "bulkhead agents rm counter --force",
         .options = rm_options,
         .run = rm},
        {.words = {"agents", "review"},
         .arguments = "NAME",
         .least = 1,
         .most = 1,
         .summary = "record that its boundary was reviewed against today's capabilities",
         .example = "bulkhead agents review counter --note 'no egress, read-only data'",
         .options = review_options,
         .run = review},
        {.words = {"agents", "reviews"},
         .arguments = "NAME",
         .least = 1,
         .most = 1,
         .summary = "list its reviews",
         .example = "bulkhead agents reviews counter",
         .options = list_options,
         .run = reviews},
        {.words = {NULL}},
};
