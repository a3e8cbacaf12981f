/* A page of what is beneath a directory: everything, each directory before what is in it, names
 * in the order of their bytes. The cursor is the path of the last item shown. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/digest.h"
#include "base/json.h"
#include "broker/files/channel.h"
#include "broker/files/names.h"
#include "broker/files/request.h"

struct page {
        const struct bh_place *place;
        size_t limit;
        json_t *data;
        char *last; /* path of the last item */
        bool more;
};

static int add(struct page *page, const char *path, const struct stat *st)
{
        json_t *item;

        if (json_array_size(page->data) == page->limit) {
                page->more = true;
                return 1;
        }
        item = bh_place_describe(path, st);
        if (!item)
                return 0;
        json_array_append_new(page->data, item);
        free(page->last);
        page->last = bh_strdup(path);
        return 0;
}

static int list(struct page *page, const char *path, const char *after);

/* One name of a directory; after: what was shown before of what is beneath it, NULL: it itself was
 * not. 1: the page is full. */
static int visit(struct page *page, int directory, const char *path, const char *name,
                 const char *after)
{
        _cleanup_free_ char *below = bh_format("%s%s%s", path, path[0] ? "/" : "", name);
        struct stat st;

        /* What has no path that anyone could ask for is not shown. */
        if (strlen(below) >= PATH_MAX || fstatat(directory, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
                return 0;
        if (bh_place_is_hidden(below, &st))
                return 0;
        if (!after && add(page, below, &st) > 0)
                return 1;
        return S_ISDIR(st.st_mode) ? list(page, below, after ? after : "") : 0;
}

/* after: relative to path, "" from its start. A directory that went or that modes close is shown
 * empty. 1: the page is full. */
static int list(struct page *page, const char *path, const char *after)
{
        size_t length = strcspn(after, "/");
        _cleanup_free_ char *first = bh_strndup(after, length);
        _cleanup_(bh_names_clear) struct bh_names names = {.items = NULL};
        _cleanup_close_ int directory =
                bh_place_open(page->place->root, path, O_RDONLY | O_DIRECTORY);

        bh_files_progress();
        if (directory < 0 || bh_names_read(directory, first, page->limit + 2, &names) < 0)
                return 0;
        for (size_t i = 0; i < names.count; i++) {
                bool shown = length > 0 && strcmp(names.items[i], first) == 0;
                const char *rest = after + length + (after[length] == '/');

                if (visit(page, directory, path, names.items[i], shown ? rest : NULL) > 0)
                        return 1;
        }
        return 0;
}

static int refuse_cursor(struct bh_error *error)
{
        bh_error_refused(error, "invalid_request", "", "no cursor of this list");
        return -1;
}

/* Of the cursor: the part beneath the directory that is listed. */
static int decode_cursor(const struct bh_files_request *request, char **ret, struct bh_error *error)
{
        _cleanup_free_ unsigned char *data = NULL;
        size_t size = 0, prefix = strlen(request->path);
        const char *path;

        if (request->cursor[0] == '\0') {
                *ret = bh_strdup("");
                return 0;
        }
        if (bh_base64_decode(request->cursor, strlen(request->cursor), &data, &size) < 0)
                return refuse_cursor(error);
        *ret = bh_strndup((const char *)data, size);
        path = *ret;
        if (prefix > 0 && (strncmp(path, request->path, prefix) != 0 || path[prefix] != '/'))
                return refuse_cursor(error);
        if (prefix > 0)
                memmove(*ret, *ret + prefix + 1, strlen(path) - prefix);
        return 0;
}

static int send(struct bh_files *files, const json_t *document, struct bh_error *error)
{
        _cleanup_free_ char *text = bh_json_text(document);

        if (bh_files_send_stream(files->channel, "application/json", error) < 0 ||
            bh_files_send_data(files->channel, text, strlen(text), error) < 0)
                return -1;
        return bh_files_send_end(files->channel, error);
}

int bh_files_tree(struct bh_files *files, const struct bh_files_request *request,
                  struct bh_error *error)
{
        struct page page = {.place = &files->place, .limit = (size_t)request->limit};
        _cleanup_free_ char *after = NULL, *cursor = NULL;
        _cleanup_json_ json_t *document = NULL;
        _cleanup_close_ int directory =
                bh_place_open(files->place.root, request->path, O_RDONLY | O_DIRECTORY);

        if (directory < 0)
                return bh_place_error(errno, request->path, error);
        if (decode_cursor(request, &after, error) < 0)
                return -1;
        page.data = json_array();
        (void)list(&page, request->path, after);
        if (page.more && page.last)
                cursor = bh_base64_encode(page.last, strlen(page.last));
        free(page.last);
        document = json_pack("{soss?}", "data", page.data, "next_cursor", cursor);
        return send(files, document, error);
}
