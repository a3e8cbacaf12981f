/* `bulkhead decide`: what would happen to a request, without doing it. */
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "api/cli/cli.h"
#include "api/cli/member.h"
#include "api/cli/request.h"
#include "base/alloc.h"

static void show_problems(struct bh_cli *cli, const json_t *problems)
{
        _cleanup_(bh_table_cleanup) struct bh_table *table = bh_table_new(NULL, 1);
        size_t index;
        const json_t *problem;

        if (json_array_size(problems) == 0)
                return;
        json_array_foreach (problems, index, problem) {
                bh_table_cell(table, json_string_value(problem));
        }
        bh_cli_heading(cli, "What stands in its way");
        bh_table_write(table, 0, 0, cli->out); /* whole: a fix may stand at its end */
}

static void show_decision(struct bh_cli *cli, const json_t *decision)
{
        static const char *const texts[] = {"tier", "driver", "technology", NULL};
        _cleanup_(bh_table_cleanup) struct bh_table *table = bh_table_new(NULL, 2);

        for (size_t index = 0; texts[index] != NULL; index++) {
                bh_table_cell(table, texts[index]);
                bh_table_cell(table, bh_member_text(decision, texts[index]));
        }
        bh_table_cell(table, "would run");
        bh_table_cell(table, bh_member_true(decision, "available") ? "yes" : "no");
        bh_cli_table(cli, table);
        bh_cli_reasons(cli, bh_member(decision, "reasons"));
        show_problems(cli, bh_member(decision, "problems"));
}

static int decide(struct bh_cli *cli, struct bh_error *error)
{
        _cleanup_json_ json_t *body = NULL;
        _cleanup_response_ struct bh_http_response response = {0};
        struct bh_http_request request = {
                .method = "POST", .path = "/v1/decisions", .timeout_ms = BH_CALL_TIMEOUT_MS};

        if (bh_request_from_options(cli->options, STDIN_FILENO, &body, error) < 0)
                return -1;
        request.body = body;
        if (bh_cli_call(cli, &request, &response, error) < 0)
                return -1;
        if (cli->json)
                bh_cli_json(cli, response.json);
        else
                show_decision(cli, response.json);
        return bh_member_true(response.json, "available") ? BH_EXIT_OK : BH_EXIT_FAILED;
}

static const struct bh_option options[] = {BH_REQUEST_OPTIONS, {0}};

const struct bh_command bh_commands_decide[] = {
        {.words = {"decide"},
         .arguments = "-- COMMAND...",
         .least = 1,
         .most = SIZE_MAX,
         .runs_command = true,
         .summary = "what 'run' with the same options would do, and why; nothing is started",
         .text = "Exit status: 0 when it would run, 1 when it would be refused.",
         .example = "bulkhead decide --agent counter -- python3 words.py",
         .options = options,
         .run = decide},
        {.words = {NULL}},
};
