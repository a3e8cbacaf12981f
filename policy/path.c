/* Lexical checks of paths. See path.h; bh_path_is_below is mount.h's, bh_relative_path_valid
 * request.h's. */
#include "policy/path.h"

#include <limits.h>
#include <string.h>

#include "policy/mount.h"
#include "policy/name.h"
#include "policy/request.h"

bool bh_relative_path_valid(const char *path)
{
        if (strnlen(path, PATH_MAX) >= PATH_MAX || !bh_text_printable(path))
                return false;
        for (;;) {
                size_t length = strcspn(path, "/");

                if (length < 1 || length > NAME_MAX || (length == 1 && path[0] == '.') ||
                    (length == 2 && path[0] == '.' && path[1] == '.'))
                        return false;
                if (path[length] == '\0')
                        return true;
                path += length + 1;
        }
}

int bh_absolute_path_decode(const struct bh_json_at *at, const char **ret, struct bh_error *error)
{
        const char *path;

        if (bh_json_string(at, 1, PATH_MAX - 1, &path, error) < 0)
                return -1;
        if (strcmp(path, "/") != 0 && (path[0] != '/' || !bh_relative_path_valid(path + 1)))
                return bh_json_fail(at, error,
                                    "a path is absolute and normalised: no empty, '.' or '..' "
                                    "component, no control character");
        *ret = path;
        return 0;
}

bool bh_path_is_below(const char *path, const char *root)
{
        size_t length = strlen(root);

        if (strcmp(root, "/") == 0)
                return path[0] == '/';
        return strncmp(path, root, length) == 0 && (path[length] == '\0' || path[length] == '/');
}
