/* Ports, methods and paths of egress rules and secret bindings. See filter.h. */
#include "policy/filter.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "policy/name.h"
#include "policy/strings.h"

#define PORTS_MAX         64
#define METHODS_MAX       32
#define METHOD_LENGTH_MAX 32
#define PATHS_MAX         64
#define PATH_LENGTH_MAX   1024

static int compare_ports(const void *a, const void *b)
{
        return (int)*(const uint16_t *)a - (int)*(const uint16_t *)b;
}

int bh_ports_decode(const struct bh_json_at *at, uint16_t **ret, size_t *ret_count,
                    struct bh_error *error)
{
        size_t count;

        if (bh_json_array(at, 1, PORTS_MAX, &count, error) < 0)
                return -1;
        _cleanup_free_ uint16_t *ports = bh_alloc_array(count, sizeof(*ports));
        for (size_t i = 0; i < count; i++) {
                struct bh_json_at element = bh_json_element(at, i);
                int64_t port;

                if (bh_json_integer(&element, 1, UINT16_MAX, &port, error) < 0)
                        return -1;
                if (bh_ports_contain(ports, i, (uint16_t)port))
                        return bh_json_fail(&element, error, "port %d is listed twice", (int)port);
                ports[i] = (uint16_t)port;
        }
        qsort(ports, count, sizeof(*ports), compare_ports);
        *ret = bh_steal_ptr(&ports);
        *ret_count = count;
        return 0;
}

json_t *bh_ports_encode(const uint16_t *ports, size_t count)
{
        json_t *array = json_array();

        for (size_t i = 0; i < count; i++)
                json_array_append_new(array, json_integer(ports[i]));
        return array;
}

bool bh_ports_contain(const uint16_t *ports, size_t count, uint16_t port)
{
        for (size_t i = 0; i < count; i++)
                if (ports[i] == port)
                        return true;
        return false;
}

bool bh_token_valid(const char *text)
{
        static const char token[] = "!#$%&'*+-.^_`|~0123456789"
                                    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

        return *text && text[strspn(text, token)] == '\0';
}

static int check_method(const struct bh_json_at *at, const char *text, char **ret_text,
                        struct bh_error *error)
{
        (void)ret_text;
        if (!bh_token_valid(text))
                return bh_json_fail(at, error, "a method is a token, such as GET");
        for (const char *p = text; *p; p++)
                if (*p >= 'a' && *p <= 'z')
                        return bh_json_fail(at, error, "methods are written in upper case");
        return 0;
}

int bh_methods_decode(const struct bh_json_at *at, char ***ret, size_t *ret_count,
                      struct bh_error *error)
{
        return bh_strings_decode(at, 1, METHODS_MAX, METHOD_LENGTH_MAX, check_method, ret,
                                 ret_count, error);
}

static bool has_dot_segment(const char *path)
{
        for (const char *segment = path; segment; segment = strchr(segment, '/')) {
                segment += *segment == '/';
                size_t length = strcspn(segment, "/");

                /* A prefix "/a/..*" ends in what may become a dot segment: refused too. */
                if (length > 0 && segment[length - 1] == '*')
                        length--;
                if ((length == 1 && segment[0] == '.') ||
                    (length == 2 && segment[0] == '.' && segment[1] == '.'))
                        return true;
        }
        return false;
}

static int check_path(const struct bh_json_at *at, const char *text, char **ret_text,
                      struct bh_error *error)
{
        const char *star = strchr(text, '*');

        (void)ret_text;
        if (text[0] != '/')
                return bh_json_fail(at, error, "a path begins with '/'");
        if (star && star[1] != '\0')
                return bh_json_fail(at, error, "'*' stands only at the end of a path");
        if (strpbrk(text, "?# \\") || !bh_text_printable(text))
                return bh_json_fail(at, error,
                                    "a path holds no '?', '#', '\\', white space or control "
                                    "character");
        if (has_dot_segment(text))
                return bh_json_fail(at, error, "a path holds no '.' or '..' segment");
        return 0;
}

int bh_paths_decode(const struct bh_json_at *at, char ***ret, size_t *ret_count,
                    struct bh_error *error)
{
        return bh_strings_decode(at, 1, PATHS_MAX, PATH_LENGTH_MAX, check_path, ret, ret_count,
                                 error);
}

bool bh_methods_allow(char *const *methods, size_t count, const char *method)
{
        return count == 0 || bh_strings_contain(methods, count, method);
}

static bool path_matches(const char *rule, const char *path)
{
        size_t length = strlen(rule);

        if (rule[length - 1] == '*')
                return strncmp(path, rule, length - 1) == 0;
        return strcmp(path, rule) == 0;
}

bool bh_paths_allow(char *const *paths, size_t count, const char *path)
{
        if (count == 0)
                return true;
        /* Paths come normalised; one that is not would make a prefix mean another place. */
        if (path[0] != '/' || has_dot_segment(path))
                return false;
        for (size_t i = 0; i < count; i++)
                if (path_matches(paths[i], path))
                        return true;
        return false;
}
