/* See request.h. */
#include "api/cli/request.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/digest.h"
#include "base/fd.h"
#include "base/utf8.h"

#define BYTES_MAX  ((size_t)8 << 20) /* files and stdin together */
#define CHUNK_SIZE ((size_t)64 << 10)

static const struct {
        const char *option, *member;
} limits[] = {
        {"timeout", "wall_ms"}, {"cpu", "cpu_ms"},      {"memory", "memory_bytes"},
        {"pids", "pids"},       {"disk", "disk_bytes"}, {"output", "output_bytes"},
};

static const struct {
        const char *option, *member;
} texts[] = {
        {"agent", "agent"}, {"workspace", "workspace"}, {"image", "image"},
        {"cwd", "cwd"},     {"min-tier", "min_tier"},
};

/* A member whose text came from argv, which may be any bytes. */
static int put_text(json_t *object, const char *member, const char *text, struct bh_error *error)
{
        json_t *value = json_string(text);

        if (value == NULL)
                return bh_error_set(error, BH_ERROR_INVALID, "%s is not UTF-8: '%s'", member, text);
        if (json_object_set_new(object, member, value) < 0)
                bh_alloc_failed();
        return 0;
}

static bool is_text(const char *bytes, size_t size)
{
        for (size_t at = 0; at < size;) {
                size_t length = bytes[at] == '\0' ? 0 : bh_utf8_length(bytes + at, size - at);

                if (length == 0)
                        return false;
                at += length;
        }
        return true;
}

/* Adds data and encoding: as text when it is text, else base64. */
static void put_bytes(json_t *object, const char *bytes, size_t size)
{
        if (is_text(bytes, size)) {
                json_object_set_new(object, "data", json_stringn(bytes, size));
                json_object_set_new(object, "encoding", json_string("utf-8"));
        } else {
                _cleanup_free_ char *coded = bh_base64_encode(bytes, size);

                json_object_set_new(object, "data", json_string(coded));
                json_object_set_new(object, "encoding", json_string("base64"));
        }
}

/* Reads fd to its end into *ret; at most *budget bytes, which shrinks. */
static int read_all(int fd, size_t *budget, char **ret, size_t *ret_size, struct bh_error *error)
{
        _cleanup_free_ char *bytes = NULL;
        size_t size = 0;

        for (;;) {
                bytes = bh_realloc_array(bytes, size + CHUNK_SIZE, 1);
                ssize_t count = bh_read_full(fd, bytes + size, CHUNK_SIZE);

                if (count < 0)
                        return bh_error_errno(error, errno, "read");
                size += (size_t)count;
                if (size > *budget)
                        return bh_error_set(error, BH_ERROR_INVALID,
                                            "files and standard input may hold %zu bytes together; "
                                            "put more into a named workspace",
                                            BYTES_MAX);
                if ((size_t)count < CHUNK_SIZE)
                        break;
        }
        *budget -= size;
        *ret_size = size;
        *ret = bh_steal_ptr(&bytes);
        return 0;
}

/* "PATH=DEST" or "PATH", whose DEST is the last component. A file that has the whole text as
 * its name wins over the split. */
static void split_file(const char *text, char **ret_path, char **ret_destination)
{
        const char *equals = strrchr(text, '='), *slash;

        if (equals != NULL && equals != text && equals[1] != '\0' && access(text, F_OK) != 0) {
                *ret_path = bh_strndup(text, (size_t)(equals - text));
                *ret_destination = bh_strdup(equals + 1);
                return;
        }
        slash = strrchr(text, '/');
        *ret_path = bh_strdup(text);
        *ret_destination = bh_strdup(slash != NULL ? slash + 1 : text);
}

/* *ret_fd is the caller's, also on failure. */
static int open_regular(const char *path, int *ret_fd, struct stat *ret, struct bh_error *error)
{
        /* O_NONBLOCK: a fifo must not make the client wait for a writer. */
        *ret_fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
        if (*ret_fd < 0)
                return bh_error_set(error, BH_ERROR_INVALID, "cannot read --file %s: %s", path,
                                    strerror(errno));
        if (fstat(*ret_fd, ret) < 0 || !S_ISREG(ret->st_mode))
                return bh_error_set(error, BH_ERROR_INVALID, "--file %s is no regular file", path);
        return 0;
}

static int add_file(json_t *files, const char *text, size_t *budget, struct bh_error *error)
{
        _cleanup_free_ char *path = NULL, *destination = NULL, *bytes = NULL;
        _cleanup_json_ json_t *entry = json_object();
        _cleanup_close_ int fd = -1;
        struct stat status = {0};
        size_t size = 0;

        split_file(text, &path, &destination);
        if (open_regular(path, &fd, &status, error) < 0)
                return -1;
        if (read_all(fd, budget, &bytes, &size, error) < 0)
                return bh_error_prefix(error, "--file %s", path);
        if (put_text(entry, "path", destination, error) < 0)
                return -1;
        put_bytes(entry, bytes, size);
        json_object_set_new(entry, "mode",
                            json_string((status.st_mode & 0100) != 0 ? "0755" : "0644"));
        json_array_append(files, entry);
        return 0;
}

static int add_files(json_t *body, const struct bh_options *options, size_t *budget,
                     struct bh_error *error)
{
        _cleanup_json_ json_t *files = json_array();
        const char *text;

        for (size_t index = 0; (text = bh_options_item(options, "file", index)) != NULL; index++)
                if (add_file(files, text, budget, error) < 0)
                        return -1;
        if (json_array_size(files) != 0)
                json_object_set(body, "files", files);
        return 0;
}

/* K=V of every such option as one object. */
static int add_pairs(json_t *body, const struct bh_options *options, const char *option,
                     const char *member, struct bh_error *error)
{
        _cleanup_json_ json_t *object = json_object();
        const char *text;

        for (size_t index = 0; (text = bh_options_item(options, option, index)) != NULL; index++) {
                const char *equals = strchr(text, '=');
                _cleanup_free_ char *key = bh_strndup(text, (size_t)(equals - text));
                json_t *value = json_string(equals + 1);

                if (json_object_set_new(object, key, value) < 0)
                        return bh_error_set(error, BH_ERROR_INVALID, "--%s %s is not UTF-8", option,
                                            text);
        }
        if (json_object_size(object) != 0)
                json_object_set(body, member, object);
        return 0;
}

static int add_argv(json_t *body, const struct bh_options *options, struct bh_error *error)
{
        _cleanup_json_ json_t *argv = json_array();

        for (size_t index = 0; index < options->argument_count; index++) {
                if (json_array_append_new(argv, json_string(options->arguments[index])) < 0)
                        return bh_error_set(error, BH_ERROR_INVALID,
                                            "argument %zu of the command is not UTF-8", index);
        }
        json_object_set(body, "argv", argv);
        return 0;
}

static void add_limits(json_t *body, const struct bh_options *options)
{
        _cleanup_json_ json_t *object = json_object();

        for (size_t index = 0; index < sizeof(limits) / sizeof(limits[0]); index++) {
                int64_t value = bh_options_number(options, limits[index].option, 0);

                if (value != 0)
                        json_object_set_new(object, limits[index].member, json_integer(value));
        }
        if (json_object_size(object) != 0)
                json_object_set(body, "limits", object);
}

static int add_stdin(json_t *body, int fd, size_t *budget, struct bh_error *error)
{
        _cleanup_free_ char *bytes = NULL;
        size_t size = 0;

        if (read_all(fd, budget, &bytes, &size, error) < 0)
                return bh_error_prefix(error, "standard input");

        json_t *object = json_object();
        put_bytes(object, bytes, size);
        json_object_set_new(body, "stdin", object);
        return 0;
}

int bh_request_from_options(const struct bh_options *options, int stdin_fd, json_t **ret,
                            struct bh_error *error)
{
        _cleanup_json_ json_t *body = json_object();
        size_t budget = BYTES_MAX;

        for (size_t index = 0; index < sizeof(texts) / sizeof(texts[0]); index++) {
                const char *text = bh_options_text(options, texts[index].option);

                if (text != NULL && put_text(body, texts[index].member, text, error) < 0)
                        return -1;
        }
        if (add_argv(body, options, error) < 0 ||
            add_pairs(body, options, "env", "env", error) < 0 ||
            add_pairs(body, options, "label", "labels", error) < 0 ||
            add_files(body, options, &budget, error) < 0)
                return -1;
        add_limits(body, options);
        if (bh_options_flag(options, "stdin") && add_stdin(body, stdin_fd, &budget, error) < 0)
                return -1;
        *ret = bh_steal_ptr(&body);
        return 0;
}
