/* `bulkhead audit …`: reading the audit log and checking that nothing in it was changed. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/cli/cli.h"
#include "api/cli/member.h"
#include "base/alloc.h"
#include "base/audit_chain.h"

#define LIST_DEFAULT   50
#define FOLLOW_FIRST   10 /* entries shown before those that come */
#define FOLLOW_POLL_MS 1000
#define PAGE_SIZE      200

/* A walk over the pages, oldest first. At the end the last page is asked for again, so the walk
 * can go on when there are more entries. */
struct walk {
        char *cursor; /* of the page that comes; NULL: the first */
        int64_t last; /* sequence number of the last entry that was handed out */
        bool at_end;
};

static void walk_clear(struct walk *walk)
{
        free(walk->cursor);
}

/* The entries that are new since the last call. */
static int walk_on(struct bh_cli *cli, struct walk *walk, json_t **ret, struct bh_error *error)
{
        _cleanup_json_ json_t *page = NULL, *fresh = json_array();
        _cleanup_free_ char *path = bh_format("/v1/audit?limit=%d%s%s", PAGE_SIZE,
                                              walk->cursor != NULL ? "&cursor=" : "",
                                              walk->cursor != NULL ? walk->cursor : "");
        const char *next;
        size_t index;
        json_t *entry;

        if (bh_cli_get(cli, path, &page, error) < 0)
                return -1;
        json_array_foreach (bh_member(page, "data"), index, entry) {
                int64_t sequence = bh_member_integer(entry, "sequence", 0);

                if (sequence <= walk->last)
                        continue;
                walk->last = sequence;
                json_array_append(fresh, entry);
        }
        next = bh_member_text(page, "next_cursor");
        walk->at_end = next == NULL;
        if (next != NULL) {
                free(walk->cursor);
                walk->cursor = bh_http_escape(next);
        }
        *ret = bh_steal_ptr(&fresh);
        return 0;
}

/* Everything to the end, of which the newest are kept. */
static int newest(struct bh_cli *cli, struct walk *walk, size_t keep, json_t **ret,
                  struct bh_error *error)
{
        _cleanup_json_ json_t *kept = json_array();

        do {
                _cleanup_json_ json_t *page = NULL;

                if (walk_on(cli, walk, &page, error) < 0)
                        return -1;
                json_array_extend(kept, page);
                while (json_array_size(kept) > keep)
                        json_array_remove(kept, 0);
        } while (!walk->at_end);
        *ret = bh_steal_ptr(&kept);
        return 0;
}

static void add_row(struct bh_table *table, const json_t *entry)
{
        bh_table_format(table, "%" PRId64, bh_member_integer(entry, "sequence", 0));
        bh_table_cell(table, bh_member_text(entry, "at"));
        bh_table_cell(table, bh_member_text(entry, "actor"));
        bh_table_cell(table, bh_member_text(entry, "action"));
        bh_table_cell_take(table, bh_member_pairs(bh_member(entry, "subject")));
        bh_table_cell_take(table, json_dumps(bh_member(entry, "detail"), JSON_COMPACT));
}

static const char *const headers[] = {"ENTRY", "AT", "ACTOR", "ACTION", "SUBJECT", "DETAIL", NULL};

static int list(struct bh_cli *cli, struct bh_error *error)
{
        _cleanup_(walk_clear) struct walk walk = {0};
        _cleanup_json_ json_t *entries = NULL;
        _cleanup_(bh_table_cleanup) struct bh_table *table = bh_table_new(headers, 0);
        size_t index;
        const json_t *entry;

        if (newest(cli, &walk, (size_t)bh_options_number(cli->options, "limit", LIST_DEFAULT),
                   &entries, error) < 0)
                return -1;
        if (cli->json) {
                bh_cli_json_list(cli, entries);
                return BH_EXIT_OK;
        }
        json_array_foreach (entries, index, entry) {
                add_row(table, entry);
        }
        bh_cli_list_end(cli, table, "entries", false);
        return BH_EXIT_OK;
}

/* One entry a line: columns cannot be aligned with what is still to come. */
static void write_line(struct bh_cli *cli, const json_t *entry)
{
        if (cli->json) {
                json_dumpf(entry, cli->out, JSON_COMPACT | JSON_ENSURE_ASCII);
                fputc('\n', cli->out);
                return;
        }

        _cleanup_(bh_table_cleanup) struct bh_table *table = bh_table_new(NULL, 6);
        add_row(table, entry);
        bh_table_write(table, cli->columns, 0, cli->out);
}

static int follow(struct bh_cli *cli, struct bh_error *error)
{
        _cleanup_(walk_clear) struct walk walk = {0};
        _cleanup_json_ json_t *entries = NULL;

        if (!bh_options_flag(cli->options, "follow"))
                return list(cli, error);
        if (newest(cli, &walk, (size_t)bh_options_number(cli->options, "limit", FOLLOW_FIRST),
                   &entries, error) < 0)
                return -1;
        for (;;) {
                size_t index;
                const json_t *entry;

                json_array_foreach (entries, index, entry) {
                        write_line(cli, entry);
                }
                if (fflush(cli->out) != 0)
                        return bh_error_errno(error, errno, "write");
                if (walk.at_end)
                        poll(NULL, 0, FOLLOW_POLL_MS);
                json_decref(bh_steal_ptr(&entries));
                if (walk_on(cli, &walk, &entries, error) < 0)
                        return -1;
        }
}

static int verify_answers(struct bh_cli *cli, struct bh_chain *chain, struct bh_error *error)
{
        _cleanup_(walk_clear) struct walk walk = {0};

        do {
                _cleanup_json_ json_t *entries = NULL;
                size_t index;
                const json_t *entry;

                if (walk_on(cli, &walk, &entries, error) < 0)
                        return -1;
                json_array_foreach (entries, index, entry) {
                        if (bh_chain_check(chain, entry, error) < 0)
                                return -1;
                }
        } while (!walk.at_end);
        return 0;
}

static int verify_line(struct bh_chain *chain, const char *line, size_t size, const char *name,
                       size_t number, struct bh_error *error)
{
        _cleanup_json_ json_t *entry = NULL;

        if (bh_json_parse(line, size, &entry, error) < 0 ||
            bh_chain_check(chain, entry, error) < 0) {
                error->code = BH_ERROR_REFUSED;
                return bh_error_prefix(error, "%s, line %zu", name, number);
        }
        return 0;
}

static int verify_file(struct bh_chain *chain, int directory, const char *name,
                       struct bh_error *error)
{
        _cleanup_close_ int fd = openat(directory, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
        FILE *file = fd >= 0 ? fdopen(fd, "r") : NULL;
        _cleanup_free_ char *line = NULL;
        size_t allocated = 0, number = 0;
        ssize_t size = 0;
        int result = 0;

        if (file == NULL)
                return bh_error_errno(error, errno, "open %s", name);
        (void)bh_steal_fd(&fd); /* file's now */
        while (result == 0 && (size = getline(&line, &allocated, file)) > 0) {
                number++;
                if (line[size - 1] != '\n' || (size_t)size > BH_AUDIT_LINE_MAX)
                        result = bh_error_set(error, BH_ERROR_REFUSED,
                                              "%s, line %zu: the line is not whole", name, number);
                else
                        result = verify_line(chain, line, (size_t)size - 1, name, number, error);
        }
        if (result == 0 && ferror(file))
                result = bh_error_errno(error, errno, "read %s", name);
        fclose(file);
        return result;
}

static int is_log(const struct dirent *entry)
{
        const char *dot = strrchr(entry->d_name, '.');

        return entry->d_name[0] != '.' && dot != NULL && strcmp(dot, ".jsonl") == 0;
}

/* The files' names begin with the number of their first entry, so they sort by age. */
static int verify_files(const char *path, struct bh_chain *chain, struct bh_error *error)
{
        _cleanup_close_ int directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        struct dirent **names = NULL;
        int count = directory >= 0 ? scandirat(directory, ".", &names, is_log, alphasort) : -1;
        int result = 0;

        if (count < 0)
                return bh_error_errno(error, errno, "cannot read the directory %s", path);
        if (count == 0)
                result = bh_error_set(error, BH_ERROR_NOT_FOUND,
                                      "there are no audit files in %s; they lie in "
                                      "STATE_DIR/audit",
                                      path);
        for (int index = 0; index < count; index++) {
                if (result == 0)
                        result = verify_file(chain, directory, names[index]->d_name, error);
                free(names[index]);
        }
        free(names);
        return result;
}

/* A file of the log may be a later one, with those before it elsewhere. */
static int verify_path(const char *path, struct bh_chain *chain, struct bh_error *error)
{
        struct stat status;

        if (stat(path, &status) < 0)
                return bh_error_errno(error, errno, "cannot read %s", path);
        if (S_ISDIR(status.st_mode))
                return verify_files(path, chain, error);
        bh_chain_start_at(chain, 0);
        return verify_file(chain, AT_FDCWD, path, error);
}

static int verify(struct bh_cli *cli, struct bh_error *error)
{
        const char *path = bh_cli_argument(cli, 0);
        struct bh_chain chain;
        int result;

        if (path == NULL)
                path = bh_options_text(cli->options, "dir");
        bh_chain_start(&chain);
        result = path != NULL ? verify_path(path, &chain, error)
                              : verify_answers(cli, &chain, error);
        if (cli->json && (result == 0 || error->code == BH_ERROR_REFUSED)) {
                _cleanup_json_ json_t *answer = json_pack(
                        "{s:b, s:I, s:s}", "intact", result == 0, "entries",
                        (json_int_t)(chain.count - chain.skipped), "last_hash", chain.previous);

                bh_cli_json(cli, answer);
        } else if (result == 0) {
                fprintf(cli->out, "%" PRId64 " entries, the chain is intact; last hash %s\n",
                        chain.count - chain.skipped, chain.previous);
        }
        if (result < 0 && error->message[0] != '\0' && error->code == BH_ERROR_REFUSED)
                bh_error_prefix(error,
                                "the audit log was tampered with or damaged after %" PRId64
                                " good entries",
                                chain.count - chain.skipped);
        return result;
}

static const struct bh_option list_options[] = {BH_LIST_OPTIONS, {0}};
static const struct bh_option follow_options[] = {
        {.name = "follow",
         .letter = 'f',
         .kind = BH_OPTION_FLAG,
         .help = "go on with the entries that come"},
        {.name = "limit",
         .letter = 'n',
         .kind = BH_OPTION_COUNT,
         .value = "N",
         .help = "at most so many old ones (default: 50; with -f 10)"},
        {0},
};
static const struct bh_option verify_options[] = {
        {.name = "dir",
         .kind = BH_OPTION_TEXT,
         .value = "DIR",
         .help = "check the files in DIR (STATE_DIR/audit), asking no broker"},
        {0},
};

const struct bh_command bh_commands_audit[] = {
        {.words = {"audit"},
         .arguments = "",
         .summary = "the newest audit entries; -f goes on",
         .example = "bulkhead audit -f",
         .options = follow_options,
         .run = follow},
        {.words = {"audit", "list"},
         .arguments = "",
         .summary = "the newest audit entries",
         .example = "bulkhead audit list --limit 20",
         .options = list_options,
         .run = list},
        {.words = {"audit", "verify"},
         .arguments = "[FILE]",
         .most = 1,
         .summary = "check that no audit entry was changed, removed or put in",
         .text = "Every entry holds the hash of the one before it (docs/audit.md). Without FILE or "
                 "--dir\nthe entries come from the broker. Keep the last hash elsewhere: only it "
                 "can "
                 "show that entries\nwere cut off at the end.",
         .example = "bulkhead audit verify --dir /var/lib/bulkhead/audit",
         .options = verify_options,
         .run = verify},
        {.words = {NULL}},
};
