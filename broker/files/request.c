/* See request.h. */
#include "broker/files/request.h"

#include <errno.h>
#include <limits.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/json.h"

#define REQUEST_MAX    (64 << 10)
#define CURSOR_MAX     ((size_t)8 << 10)
#define DISK_BYTES_MAX ((int64_t)1 << 40)

static int decode(const json_t *document, struct bh_files_request *ret, struct bh_error *error)
{
        static const char *const members[] = {"op", "path", "disk_bytes", "limit", "cursor", NULL};
        struct bh_json_at root = BH_JSON_ROOT(document), at;
        const char *op = NULL;

        if (bh_json_object(&root, members, error) < 0 ||
            bh_json_require(&root, "op", &at, error) < 0 ||
            bh_json_string(&at, 1, 64, &op, error) < 0 ||
            bh_json_require(&root, "path", &at, error) < 0 ||
            bh_json_string(&at, 0, PATH_MAX - 1, &ret->path, error) < 0 ||
            bh_json_require(&root, "disk_bytes", &at, error) < 0 ||
            bh_json_integer(&at, 1, DISK_BYTES_MAX, &ret->disk_bytes, error) < 0 ||
            bh_json_require(&root, "limit", &at, error) < 0 ||
            bh_json_integer(&at, 1, INT_MAX, &ret->limit, error) < 0 ||
            bh_json_require(&root, "cursor", &at, error) < 0 ||
            bh_json_string(&at, 0, CURSOR_MAX, &ret->cursor, error) < 0)
                return -1;
        ret->op = bh_op_by_name(op);
        return 0;
}

int bh_files_request_read(int fd, struct bh_files_request *ret, struct bh_error *error)
{
        _cleanup_free_ char *text = bh_alloc(REQUEST_MAX);
        _cleanup_json_ json_t *document = NULL;
        struct bh_files_request request = {.document = NULL};
        ssize_t size = bh_pread_full(fd, text, REQUEST_MAX, 0);

        if (size < 0)
                return bh_error_errno(error, errno, "read the request");
        if (bh_json_parse(text, (size_t)size, &document, error) < 0 ||
            decode(document, &request, error) < 0)
                return bh_error_prefix(error, "the request");
        request.document = bh_steal_ptr(&document);
        *ret = request;
        return 0;
}

void bh_files_request_clear(struct bh_files_request *request)
{
        json_decref(request->document);
        *request = (struct bh_files_request){.document = NULL};
}

bool bh_files_request_writes(const struct bh_files_request *request)
{
        return bh_op_allows(request->op, BH_ROLE_ORCHESTRATOR) &&
               !bh_op_allows(request->op, BH_ROLE_AUDITOR);
}
