/* `bulkhead executions …`: what runs and what ran. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "api/cli/cli.h"
#include "api/cli/execution_text.h"
#include "api/cli/follow.h"
#include "api/cli/member.h"
#include "api/cli/text.h"
#include "base/alloc.h"
#include "base/fd.h"

#define LIST_DEFAULT 50

/* "?agent=a&state=running&label.k=v" of the options. */
static char *list_path(const struct bh_options *options)
{
        char *path = bh_strdup("/v1/executions?");
        static const char *const names[] = {"agent", "state"};
        const char *text;

        for (size_t index = 0; index < sizeof(names) / sizeof(names[0]); index++) {
                _cleanup_free_ char *before = path;
                _cleanup_free_ char *value = NULL;

                text = bh_options_text(options, names[index]);
                value = bh_http_escape(text != NULL ? text : "");
                path = text == NULL ? bh_steal_ptr(&before)
                                    : bh_format("%s%s=%s&", before, names[index], value);
        }
        for (size_t index = 0; (text = bh_options_item(options, "label", index)) != NULL; index++) {
                const char *equals = strchr(text, '=');
                _cleanup_free_ char *before = path;
                _cleanup_free_ char *name = bh_strndup(text, (size_t)(equals - text));
                _cleanup_free_ char *key = bh_http_escape(name);
                _cleanup_free_ char *value = bh_http_escape(equals + 1);

                path = bh_format("%slabel.%s=%s&", before, key, value);
        }
        path[strlen(path) - 1] = '\0'; /* the '?' or the last '&' */
        return path;
}

static int list(struct bh_cli *cli, struct bh_error *error)
{
        static const char *const headers[] = {"EXECUTION", "AGENT",   "TIER", "OUTCOME",
                                              "RUN",       "CREATED", NULL};
        _cleanup_json_ json_t *found = NULL;
        _cleanup_free_ char *path = list_path(cli->options);
        _cleanup_(bh_table_cleanup) struct bh_table *table = bh_table_new(headers, 0);
        bool more = false;
        size_t index;
        const json_t *item;

        if (bh_cli_list(cli, path, bh_options_number(cli->options, "limit", LIST_DEFAULT), &found,
                        &more, error) < 0)
                return -1;
        if (cli->json) {
                bh_cli_json_list(cli, found);
                return BH_EXIT_OK;
        }
        json_array_foreach (found, index, item) {
                bool ended = bh_member_text(item, "outcome") != NULL;

                bh_table_cell(table, bh_member_text(item, "execution"));
                bh_table_cell(table, bh_member_text(item, "agent"));
                bh_table_cell(table, bh_member_text(item, "tier.effective"));
                bh_table_cell_take(table, bh_execution_outcome(item));
                bh_table_cell_take(
                        table, ended ? bh_text_duration(bh_member_integer(item, "usage.wall_ms", 0))
                                     : bh_strdup("-"));
                bh_table_cell(table, bh_member_text(item, "created_at"));
        }
        bh_cli_list_end(cli, table, "executions", more);
        return BH_EXIT_OK;
}

static void show_output(struct bh_table *table, const json_t *execution, const char *stream)
{
        const json_t *output = bh_member(execution, stream);

        bh_table_cell(table, stream);
        bh_table_format(table, "%" PRId64 " bytes, %" PRId64 " dropped",
                        bh_member_integer(output, "bytes", 0),
                        bh_member_integer(output, "dropped_bytes", 0));
}

static void show_usage(struct bh_table *table, const json_t *execution)
{
        _cleanup_free_ char *cpu =
                bh_text_duration(bh_member_integer(execution, "usage.cpu_ms", 0));
        _cleanup_free_ char *wall =
                bh_text_duration(bh_member_integer(execution, "usage.wall_ms", 0));
        _cleanup_free_ char *memory =
                bh_text_size(bh_member_integer(execution, "usage.memory_peak_bytes", 0));

        bh_table_cell(table, "used");
        bh_table_format(table, "%s real, %s processor, %s memory", wall, cpu, memory);
        bh_table_cell(table, "took");
        bh_table_format(table,
                        "%" PRId64 " ms queued, %" PRId64 " ms provisioning, %" PRId64
                        " ms running, %" PRId64 " ms teardown",
                        bh_member_integer(execution, "timing.queued_ms", 0),
                        bh_member_integer(execution, "timing.provision_ms", 0),
                        bh_member_integer(execution, "timing.run_ms", 0),
                        bh_member_integer(execution, "timing.teardown_ms", 0));
}

static void show_execution(struct bh_cli *cli, const json_t *execution)
{
        static const char *const texts[] = {
                "execution",      "agent",           "tenant",        "state",
                "outcome",        "detail",          "labels",        "tier.required",
                "tier.effective", "tier.technology", "created_at",    "started_at",
                "ended_at",       "plan_digest",     "policy_digest", NULL};
        _cleanup_(bh_table_cleanup) struct bh_table *table = bh_table_new(NULL, 2);

        for (size_t index = 0; texts[index] != NULL; index++) {
                bh_table_cell(table, texts[index]);
                if (strcmp(texts[index], "outcome") == 0)
                        bh_table_cell_take(table, bh_execution_outcome(execution));
                else if (strcmp(texts[index], "labels") == 0)
                        bh_table_cell_take(table, bh_member_pairs(bh_member(execution, "labels")));
                else
                        bh_table_cell(table, bh_member_text(execution, texts[index]));
        }
        show_output(table, execution, "stdout");
        show_output(table, execution, "stderr");
        if (bh_member(execution, "usage") != NULL)
                show_usage(table, execution);
        bh_cli_table(cli, table);
}

static int show(struct bh_cli *cli, struct bh_error *error)
{
        _cleanup_json_ json_t *execution = NULL;
        _cleanup_free_ char *path = NULL;

        if (bh_cli_path("executions", bh_cli_argument(cli, 0), "", &path, error) < 0 ||
            bh_cli_get(cli, path, &execution, error) < 0)
                return -1;
        if (cli->json)
                bh_cli_json(cli, execution);
        else
                show_execution(cli, execution);
        return BH_EXIT_OK;
}

static int kill_each(struct bh_cli *cli, struct bh_error *error)
{
        for (size_t index = 0; index < cli->options->argument_count; index++)
                if (bh_cli_delete(cli, "executions", bh_cli_argument(cli, index), "", error) < 0)
                        return -1;
        return BH_EXIT_OK;
}

static int to_stdout(void *context, const char *bytes, size_t size, struct bh_error *error)
{
        (void)context;
        if (bh_write_full(STDOUT_FILENO, bytes, size) < 0)
                return bh_error_errno(error, errno, "write");
        return 0;
}

static int logs(struct bh_cli *cli, struct bh_error *error)
{
        const char *execution = bh_cli_argument(cli, 0);
        bool errors = bh_options_flag(cli->options, "stderr");
        _cleanup_json_ json_t *ended = NULL;
        _cleanup_free_ char *path = NULL;
        _cleanup_response_ struct bh_http_response response = {0};
        struct bh_http_request request = {
                .method = "GET", .accept = "application/octet-stream, */*", .sink = to_stdout};

        if (bh_options_flag(cli->options, "follow") && !cli->json)
                return bh_follow(cli, execution, errors ? -1 : STDOUT_FILENO,
                                 errors ? STDOUT_FILENO : -1, &ended, error);
        if (cli->json) {
                if (bh_options_flag(cli->options, "follow")
                            ? bh_follow_quietly(cli, execution, &ended, error) < 0
                            : bh_cli_path("executions", execution, "", &path, error) < 0 ||
                                      bh_cli_get(cli, path, &ended, error) < 0)
                        return -1;
                bh_cli_json(cli, bh_member(ended, errors ? "stderr" : "stdout"));
                return BH_EXIT_OK;
        }
        if (bh_cli_path("executions", execution, errors ? "/stderr" : "/stdout", &path, error) < 0)
                return -1;
        request.path = path;
        return bh_cli_call(cli, &request, &response, error);
}

static const struct bh_option list_options[] = {
        BH_LIST_OPTIONS,
        {.name = "agent",
         .letter = 'a',
         .kind = BH_OPTION_TEXT,
         .value = "A",
         .help = "only of this agent"},
        {.name = "state",
         .letter = 's',
         .kind = BH_OPTION_TEXT,
         .value = "S",
         .help = "only queued, provisioning, running or ended"},
        {.name = "label",
         .letter = 'l',
         .kind = BH_OPTION_PAIRS,
         .value = "K=V",
         .help = "only with this label; may be given again"},
        {0},
};
static const struct bh_option logs_options[] = {
        {.name = "follow",
         .letter = 'f',
         .kind = BH_OPTION_FLAG,
         .help = "go on until the execution ends"},
        {.name = "stderr", .kind = BH_OPTION_FLAG, .help = "its stderr, not its stdout"},
        {0},
};

const struct bh_command bh_commands_executions[] = {
        {.words = {"executions", "list"},
         .arguments = "",
         .summary = "list executions, newest first",
         .example = "bulkhead executions list --state running",
         .options = list_options,
         .run = list},
        {.words = {"executions", "show"},
         .arguments = "ID",
         .least = 1,
         .most = 1,
         .summary = "one execution: tier, outcome, usage, timing",
         .example = "bulkhead executions show ex_01kbk4w5x3m7q2v9t8r6n1p0za",
         .run = show},
        {.words = {"executions", "kill"},
         .arguments = "ID...",
         .least = 1,
         .most = SIZE_MAX,
         .summary = "kill executions; killing one that has ended is no error",
         .example = "bulkhead executions kill ex_01kbk4w5x3m7q2v9t8r6n1p0za",
         .run = kill_each},
        {.words = {"executions", "logs"},
         .arguments = "ID",
         .least = 1,
         .most = 1,
         .summary = "what it wrote, byte for byte",
         .example = "bulkhead executions logs -f ex_01kbk4w5x3m7q2v9t8r6n1p0za",
         .options = logs_options,
         .run = logs},
        {.words = {NULL}},
};
