/* `bulkhead workspaces get|put|ls`: bytes out of workspaces and into them. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "api/cli/cli.h"
#include "api/cli/member.h"
#include "api/cli/text.h"
#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/fd.h"

#define LIST_DEFAULT  1000
#define STALL_SECONDS 120L

/* "/v1/workspaces/W/archive", or …/files/PATH with each component escaped. */
static int make_url(const char *workspace, const char *path, char **ret, struct bh_error *error)
{
        _cleanup_free_ char *tail = bh_strdup(path ? "/files" : "/archive");

        for (const char *at = path; at; at = strchr(at, '/') ? strchr(at, '/') + 1 : NULL) {
                _cleanup_free_ char *part = bh_strndup(at, strcspn(at, "/"));
                _cleanup_free_ char *escaped = bh_http_escape(part);
                char *longer = bh_format("%s/%s", tail, escaped);

                free(tail);
                tail = longer;
        }
        return bh_cli_path("workspaces", workspace, tail, ret, error);
}

/* ---- get ---- */

struct output {
        const char *path; /* NULL: standard output */
        char *part;       /* what it is called until it is whole */
        int fd;           /* -1: not opened yet */
};

/* Opened with the first byte: a refused request leaves no file. */
static int open_output(struct output *output, struct bh_error *error)
{
        if (output->fd >= 0)
                return 0;
        if (!output->path) {
                output->fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
                return output->fd < 0 ? bh_error_errno(error, errno, "write") : 0;
        }
        output->part = bh_format("%s.part", output->path);
        output->fd = open(output->part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
        return output->fd < 0 ? bh_error_errno(error, errno, "open %s", output->part) : 0;
}

static int take(void *context, const char *bytes, size_t size, struct bh_error *error)
{
        struct output *output = context;

        if (open_output(output, error) < 0)
                return -1;
        if (bh_write_full(output->fd, bytes, size) < 0)
                return bh_error_errno(error, errno, "write");
        return 0;
}

static int close_output(struct output *output, bool whole, struct bh_error *error)
{
        int result = whole ? open_output(output, error) : -1;

        if (output->fd >= 0 && close(output->fd) < 0 && result == 0)
                result = bh_error_errno(error, errno, "write");
        if (output->part && result == 0 && rename(output->part, output->path) < 0)
                result = bh_error_errno(error, errno, "rename %s", output->part);
        if (output->part && result < 0)
                (void)unlink(output->part);
        free(output->part);
        return result;
}

static int get(struct bh_cli *cli, struct bh_error *error)
{
        bool archive = bh_options_flag(cli->options, "archive");
        const char *path = bh_cli_argument(cli, 1);
        struct output output = {.path = bh_options_text(cli->options, "output"), .fd = -1};
        _cleanup_free_ char *url = NULL;
        _cleanup_response_ struct bh_http_response response = {0};
        struct bh_http_request request = {.method = "GET",
                                          .accept = "application/octet-stream, */*",
                                          .stall_seconds = STALL_SECONDS,
                                          .sink = take,
                                          .sink_context = &output};
        int result;

        if (archive == (path != NULL))
                return bh_error_set(error, BH_ERROR_INVALID,
                                    "either a PATH or --archive has to be given");
        if (make_url(bh_cli_argument(cli, 0), path, &url, error) < 0)
                return -1;
        request.path = url;
        result = bh_cli_call(cli, &request, &response, error);
        return close_output(&output, result == 0, error) < 0 ? -1 : BH_EXIT_OK;
}

/* ---- put ---- */

static ssize_t give(void *context, char *buffer, size_t size, struct bh_error *error)
{
        const int *fd = context;
        ssize_t got;

        do
                got = read(*fd, buffer, size);
        while (got < 0 && errno == EINTR);
        return got < 0 ? bh_error_errno(error, errno, "read") : got;
}

static int open_input(const char *path, struct bh_error *error)
{
        int fd = path && strcmp(path, "-") != 0
                         ? open(path, O_RDONLY | O_CLOEXEC)
                         : fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);

        return fd < 0 ? bh_error_errno(error, errno, "open %s", path ? path : "standard input")
                      : fd;
}

static int put(struct bh_cli *cli, struct bh_error *error)
{
        bool archive = bh_options_flag(cli->options, "archive");
        const char *path = archive ? NULL : bh_cli_argument(cli, 1);
        const char *file = bh_cli_argument(cli, archive ? 1 : 2);
        _cleanup_close_ int fd = -1;
        _cleanup_free_ char *url = NULL;
        _cleanup_response_ struct bh_http_response response = {0};
        struct bh_http_request request = {.method = "PUT",
                                          .stall_seconds = STALL_SECONDS,
                                          .source = give,
                                          .source_context = &fd};

        if (!archive && !path)
                return bh_error_set(error, BH_ERROR_INVALID,
                                    "either a PATH or --archive has to be given");
        if (archive && bh_cli_argument(cli, 2))
                return bh_error_set(error, BH_ERROR_INVALID, "an archive has no PATH");
        if (make_url(bh_cli_argument(cli, 0), path, &url, error) < 0)
                return -1;
        fd = open_input(file, error);
        if (fd < 0)
                return -1;
        request.path = url;
        if (bh_cli_call(cli, &request, &response, error) < 0)
                return -1;
        if (cli->json)
                bh_cli_json(cli, response.json);
        else if (archive)
                fprintf(cli->out, "%" PRId64 " members\n",
                        bh_member_integer(response.json, "members", 0));
        return BH_EXIT_OK;
}

/* ---- ls ---- */

static void add_row(struct bh_table *table, const json_t *item)
{
        const char *encoding = bh_member_text(item, "encoding");
        const char *path = bh_member_text(item, "path");

        bh_table_cell(table, bh_member_text(item, "mode"));
        bh_table_cell(table, bh_member_text(item, "type"));
        bh_table_cell_take(table, bh_text_size(bh_member_integer(item, "size", 0)));
        bh_table_cell(table, bh_member_text(item, "modified_at"));
        if (encoding && strcmp(encoding, "base64") == 0)
                bh_table_cell_take(table, bh_format("base64:%s", path ? path : ""));
        else
                bh_table_cell(table, path);
}

static int ls(struct bh_cli *cli, struct bh_error *error)
{
        static const char *const headers[] = {"MODE", "TYPE", "SIZE", "CHANGED", "PATH", NULL};
        const char *below = bh_cli_argument(cli, 1);
        _cleanup_free_ char *escaped = below ? bh_http_escape(below) : NULL;
        _cleanup_free_ char *tail =
                bh_format("/tree%s%s", escaped ? "?path=" : "", escaped ? escaped : "");
        _cleanup_free_ char *url = NULL;
        _cleanup_json_ json_t *found = NULL;
        _cleanup_(bh_table_cleanup) struct bh_table *table = bh_table_new(headers, 0);
        bool more = false;
        size_t index;
        const json_t *item;

        if (bh_cli_path("workspaces", bh_cli_argument(cli, 0), tail, &url, error) < 0 ||
            bh_cli_list(cli, url, bh_options_number(cli->options, "limit", LIST_DEFAULT), &found,
                        &more, error) < 0)
                return -1;
        if (cli->json) {
                bh_cli_json(cli, found);
                return BH_EXIT_OK;
        }
        json_array_foreach (found, index, item) {
                add_row(table, item);
        }
        bh_cli_list_end(cli, table, "files", more);
        return BH_EXIT_OK;
}

static const struct bh_option get_options[] = {
        {.name = "output",
         .letter = 'o',
         .kind = BH_OPTION_TEXT,
         .value = "FILE",
         .help = "write there instead of standard output"},
        {.name = "archive", .kind = BH_OPTION_FLAG, .help = "all of it, as a tar archive"},
        {0},
};
static const struct bh_option put_options[] = {
        {.name = "archive", .kind = BH_OPTION_FLAG, .help = "FILE is a tar archive to unpack"},
        {0},
};
static const struct bh_option ls_options[] = {
        {.name = "limit",
         .letter = 'n',
         .kind = BH_OPTION_COUNT,
         .value = "N",
         .help = "at most so many (default: 1000)"},
        {0},
};

const struct bh_command bh_commands_files[] = {
        {.words = {"workspaces", "get"},
         .arguments = "NAME [PATH]",
         .least = 1,
         .most = 2,
         .summary = "read a file of a workspace, or all of it",
         .example = "bulkhead workspaces get notes report.txt",
         .options = get_options,
         .run = get},
        {.words = {"workspaces", "put"},
         .arguments = "NAME [PATH] [FILE]",
         .least = 1,
         .most = 3,
         .summary = "write a file into a workspace, or unpack an archive there",
         .text = "Without FILE, or with -, it reads standard input. Missing directories are "
                 "made. An archive is\nunpacked whole or refused whole.",
         .example = "bulkhead workspaces put notes data/in.csv in.csv",
         .options = put_options,
         .run = put},
        {.words = {"workspaces", "ls"},
         .arguments = "NAME [PATH]",
         .least = 1,
         .most = 2,
         .summary = "list what is in a workspace, or beneath a directory of it",
         .example = "bulkhead workspaces ls notes data",
         .options = ls_options,
         .run = ls},
        {.words = {NULL}},
};
