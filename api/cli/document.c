/* See document.h. */
#include "api/cli/document.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/json.h"

#define DOCUMENT_MAX ((size_t)1 << 20) /* bytes; the API takes no larger body either */

int bh_document_read(const char *path, json_t **ret, struct bh_error *error)
{
        _cleanup_free_ char *text = bh_alloc(DOCUMENT_MAX + 1);
        _cleanup_close_ int file = -1;
        const char *shown = strcmp(path, "-") == 0 ? "standard input" : path;
        int fd = STDIN_FILENO;
        ssize_t size;

        if (strcmp(path, "-") != 0) {
                file = open(path, O_RDONLY | O_CLOEXEC);
                if (file < 0)
                        return bh_error_set(error, BH_ERROR_INVALID, "cannot read %s: %s", path,
                                            strerror(errno));
                fd = file;
        }
        size = bh_read_full(fd, text, DOCUMENT_MAX + 1);
        if (size < 0)
                return bh_error_set(error, BH_ERROR_INVALID, "cannot read %s: %s", shown,
                                    strerror(errno));
        if ((size_t)size > DOCUMENT_MAX)
                return bh_error_set(error, BH_ERROR_INVALID, "%s has more than %zu bytes", shown,
                                    DOCUMENT_MAX);
        if (bh_json_parse(text, (size_t)size, ret, error) < 0)
                return bh_error_prefix(error, "%s, at '%s'", shown, error->subject);
        return 0;
}
