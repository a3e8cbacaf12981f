/* `bulkhead workspaces …`: named workspaces, which outlive executions. */
#include <inttypes.h>

#include "api/cli/cli.h"
#include "api/cli/member.h"
#include "api/cli/text.h"
#include "base/alloc.h"

#define LIST_DEFAULT 50

static void add_row(struct bh_table *table, const json_t *workspace)
{
        bh_table_cell(table, bh_member_text(workspace, "workspace"));
        bh_table_cell_take(table, bh_text_size(bh_member_integer(workspace, "disk_bytes", 0)));
        bh_table_cell_take(table, bh_text_size(bh_member_integer(workspace, "allocated_bytes", 0)));
        bh_table_cell_take(table, bh_member_join(bh_member(workspace, "executions")));
        bh_table_cell(table, bh_member_text(workspace, "created_at"));
}

static const char *const headers[] = {"WORKSPACE", "SIZE", "ON DISK", "IN USE BY", "CREATED", NULL};

static int list(struct bh_cli *cli, struct bh_error *error)
{
        _cleanup_json_ json_t *found = NULL;
        _cleanup_(bh_table_cleanup) struct bh_table *table = bh_table_new(headers, 0);
        bool more = false;
        size_t index;
        const json_t *item;

        if (bh_cli_list(cli, "/v1/workspaces",
                        bh_options_number(cli->options, "limit", LIST_DEFAULT), &found, &more,
                        error) < 0)
                return -1;
        if (cli->json) {
                bh_cli_json_list(cli, found);
                return BH_EXIT_OK;
        }
        json_array_foreach (found, index, item) {
                add_row(table, item);
        }
        bh_cli_list_end(cli, table, "workspaces", more);
        return BH_EXIT_OK;
}

static int show(struct bh_cli *cli, struct bh_error *error)
{
        _cleanup_json_ json_t *workspace = NULL;
        _cleanup_free_ char *path = NULL;
        _cleanup_(bh_table_cleanup) struct bh_table *table = bh_table_new(headers, 0);

        if (bh_cli_path("workspaces", bh_cli_argument(cli, 0), "", &path, error) < 0 ||
            bh_cli_get(cli, path, &workspace, error) < 0)
                return -1;
        if (cli->json) {
                bh_cli_json(cli, workspace);
                return BH_EXIT_OK;
        }
        add_row(table, workspace);
        bh_cli_table(cli, table);
        return BH_EXIT_OK;
}

static int create(struct bh_cli *cli, struct bh_error *error)
{
        _cleanup_json_ json_t *body = json_object();
        _cleanup_free_ char *path = NULL, *size = NULL;
        _cleanup_response_ struct bh_http_response response = {0};
        struct bh_http_request request = {
                .method = "PUT", .body = body, .timeout_ms = BH_CALL_TIMEOUT_MS};

        json_object_set_new(body, "disk_bytes",
                            json_integer(bh_options_number(cli->options, "size", 0)));
        if (bh_cli_path("workspaces", bh_cli_argument(cli, 0), "", &path, error) < 0)
                return -1;
        request.path = path;
        if (bh_cli_call(cli, &request, &response, error) < 0)
                return -1;
        size = bh_text_size(bh_member_integer(response.json, "disk_bytes", 0));
        if (cli->json)
                bh_cli_json(cli, response.json);
        else
                fprintf(cli->out, "%s: %s (%s)\n", bh_cli_argument(cli, 0), size,
                        response.status == 201 ? "created" : "it was there already");
        return BH_EXIT_OK;
}

static int rm(struct bh_cli *cli, struct bh_error *error)
{
        for (size_t index = 0; index < cli->options->argument_count; index++)
                if (bh_cli_delete(cli, "workspaces", bh_cli_argument(cli, index), "", error) < 0)
                        return -1;
        return BH_EXIT_OK;
}

static const struct bh_option list_options[] = {BH_LIST_OPTIONS, {0}};
static const struct bh_option create_options[] = {
        {.name = "size",
         .letter = 's',
         .kind = BH_OPTION_SIZE,
         .value = "SIZE",
         .help = "bytes that it can hold, such as 64M",
         .required = true},
        {0},
};

const struct bh_command bh_commands_workspaces[] = {
        {.words = {"workspaces", "list"},
         .arguments = "",
         .summary = "list named workspaces",
         .example = "bulkhead workspaces list",
         .options = list_options,
         .run = list},
        {.words = {"workspaces", "show"},
         .arguments = "NAME",
         .least = 1,
         .most = 1,
         .summary = "one workspace",
         .example = "bulkhead workspaces show notes",
         .run = show},
        {.words = {"workspaces", "create"},
         .arguments = "NAME",
         .least = 1,
         .most = 1,
         .summary = "make a workspace of a fixed size",
         .text = "The kernel holds a workspace to its size: a full one answers ENOSPC, and never "
                 "takes the\nhost's disk. One execution at a time may write it.",
         .example = "bulkhead workspaces create notes --size 64M",
         .options = create_options,
         .run = create},
        {.words = {"workspaces", "rm"},
         .arguments = "NAME...",
         .least = 1,
         .most = SIZE_MAX,
         .summary = "remove workspaces and what is in them",
         .example = "bulkhead workspaces rm notes",
         .run = rm},
        {.words = {NULL}},
};
