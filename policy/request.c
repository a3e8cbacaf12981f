/* Execution requests: decoding. See request.h; called by broker/admission. */
#include "policy/request.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "policy/mount.h"
#include "policy/name.h"
#include "policy/path.h"
#include "policy/strings.h"

#define DEFAULT_CWD   "/workspace"
#define DEFAULT_IMAGE "host"
#define DEFAULT_MODE  0644

static int argv_decode(const struct bh_json_at *at, struct bh_request *request,
                       struct bh_error *error)
{
        size_t count, bytes = 0;

        if (bh_json_array(at, 1, BH_ARGV_MAX, &count, error) < 0)
                return -1;
        request->argv = bh_alloc_array(count + 1, sizeof(*request->argv));
        for (size_t i = 0; i < count; i++) {
                struct bh_json_at element = bh_json_element(at, i);
                const char *text;

                if (bh_json_string(&element, i == 0, BH_ARGV_BYTES_MAX, &text, error) < 0)
                        return -1;
                bytes += strlen(text) + 1;
                if (bytes > BH_ARGV_BYTES_MAX)
                        return bh_json_fail(at, error, "the arguments have more than %zu bytes",
                                            BH_ARGV_BYTES_MAX);
                request->argv[request->argc++] = bh_strdup(text);
        }
        return 0;
}

/* The working directory is entered before anything of the workload runs; the kernel's own
 * trees hold magic links that lead out of any root (CVE-2024-21626). */
static int cwd_decode(const struct bh_json_at *at, struct bh_request *request,
                      struct bh_error *error)
{
        static const char *const closed[] = {"/proc", "/sys", "/dev"};
        const char *path;

        if (bh_absolute_path_decode(at, &path, error) < 0)
                return -1;
        for (size_t i = 0; i < sizeof(closed) / sizeof(*closed); i++)
                if (bh_path_is_below(path, closed[i]))
                        return bh_json_fail(at, error, "no working directory may lie in %s",
                                            closed[i]);
        request->cwd = bh_strdup(path);
        return 0;
}

static int extent_decode(const struct bh_json_at *at, uint64_t payload_size, uint64_t *ret_offset,
                         uint64_t *ret_length, struct bh_error *error)
{
        int64_t size =
                payload_size > BH_PAYLOAD_MAX ? (int64_t)BH_PAYLOAD_MAX : (int64_t)payload_size;
        struct bh_json_at member;
        int64_t offset, length;

        if (bh_json_require(at, "offset", &member, error) < 0 ||
            bh_json_integer(&member, 0, size, &offset, error) < 0 ||
            bh_json_require(at, "length", &member, error) < 0 ||
            bh_json_integer(&member, 0, size - offset, &length, error) < 0)
                return -1;
        *ret_offset = (uint64_t)offset;
        *ret_length = (uint64_t)length;
        return 0;
}

/* Three octal digits, or four that begin with 0: no set-user-ID, set-group-ID, sticky. */
static int mode_decode(const struct bh_json_at *at, mode_t *ret, struct bh_error *error)
{
        const char *text;

        if (bh_json_string(at, 3, 4, &text, error) < 0)
                return -1;
        size_t length = strlen(text);
        if (strspn(text, "01234567") != length || (length == 4 && text[0] != '0'))
                return bh_json_fail(at, error, "a mode is octal, from \"0000\" to \"0777\"");
        *ret = (mode_t)strtoul(text, NULL, 8);
        return 0;
}

static int file_decode(const struct bh_json_at *at, uint64_t payload_size,
                       struct bh_file_entry *file, struct bh_error *error)
{
        static const char *const members[] = {"path", "mode", "offset", "length", NULL};
        struct bh_json_at member;
        const char *path;

        if (bh_json_object(at, members, error) < 0 ||
            bh_json_require(at, "path", &member, error) < 0 ||
            bh_json_string(&member, 1, 4095, &path, error) < 0)
                return -1;
        if (!bh_relative_path_valid(path))
                return bh_json_fail(&member, error,
                                    "a file's path is relative to the workspace: no empty, '.' or "
                                    "'..' component, no control character");
        file->path = bh_strdup(path);
        file->mode = DEFAULT_MODE;
        if (bh_json_member(at, "mode", &member) && mode_decode(&member, &file->mode, error) < 0)
                return -1;
        return extent_decode(at, payload_size, &file->offset, &file->length, error);
}

struct listed_path {
        const char *path;
        size_t index; /* in the request */
};

/* Order in which a directory comes right before what lies in it: '/' sorts below all. */
static int compare_paths(const void *a, const void *b)
{
        const char *x = ((const struct listed_path *)a)->path;
        const char *y = ((const struct listed_path *)b)->path;

        while (*x && *x == *y)
                x++, y++;
        int left = *x == '/' ? 1 : (unsigned char)*x + (*x != '\0');
        int right = *y == '/' ? 1 : (unsigned char)*y + (*y != '\0');
        return left - right;
}

/* A path given twice, or as a file and as a directory, has no answer that is right. */
static int check_files_distinct(const struct bh_json_at *at, const struct bh_request *request,
                                struct bh_error *error)
{
        _cleanup_free_ struct listed_path *sorted =
                bh_alloc_array(request->file_count + 1, sizeof(*sorted));

        for (size_t i = 0; i < request->file_count; i++)
                sorted[i] = (struct listed_path){.path = request->files[i].path, .index = i};
        qsort(sorted, request->file_count, sizeof(*sorted), compare_paths);
        for (size_t i = 1; i < request->file_count; i++) {
                if (!bh_path_is_below(sorted[i].path, sorted[i - 1].path))
                        continue;
                struct bh_json_at element = bh_json_element(at, sorted[i].index);
                struct bh_json_at member;

                bh_json_member(&element, "path", &member);
                return bh_json_fail(&member, error, "%s is a file of this request as well",
                                    sorted[i - 1].path);
        }
        return 0;
}

static int files_decode(const struct bh_json_at *at, uint64_t payload_size,
                        struct bh_request *request, struct bh_error *error)
{
        size_t count;

        if (bh_json_array(at, 0, BH_FILES_MAX, &count, error) < 0)
                return -1;
        request->files = bh_alloc_array(count + 1, sizeof(*request->files));
        for (size_t i = 0; i < count; i++) {
                struct bh_json_at element = bh_json_element(at, i);

                request->file_count = i + 1;
                if (file_decode(&element, payload_size, &request->files[i], error) < 0)
                        return -1;
        }
        return check_files_distinct(at, request, error);
}

static int stdin_decode(const struct bh_json_at *at, uint64_t payload_size,
                        struct bh_request *request, struct bh_error *error)
{
        static const char *const members[] = {"offset", "length", NULL};

        if (bh_json_object(at, members, error) < 0)
                return -1;
        request->has_stdin = true;
        return extent_decode(at, payload_size, &request->stdin_offset, &request->stdin_length,
                             error);
}

/* What runs: argv, cwd, env, image, workspace. */
static int command_decode(const struct bh_json_at *at, struct bh_request *request,
                          struct bh_error *error)
{
        struct bh_json_at member;
        const char *name;

        if (bh_json_require(at, "agent", &member, error) < 0 ||
            bh_name_decode(&member, &name, error) < 0)
                return -1;
        request->agent = bh_strdup(name);
        if (bh_json_require(at, "argv", &member, error) < 0 ||
            argv_decode(&member, request, error) < 0)
                return -1;
        if (!bh_json_member(at, "cwd", &member))
                request->cwd = bh_strdup(DEFAULT_CWD);
        else if (cwd_decode(&member, request, error) < 0)
                return -1;
        if (!bh_json_member(at, "env", &member))
                request->environment = json_object();
        else if (bh_environment_decode(&member, &request->environment, error) < 0)
                return -1;
        name = DEFAULT_IMAGE;
        if (bh_json_member(at, "image", &member) && bh_name_decode(&member, &name, error) < 0)
                return -1;
        request->image = bh_strdup(name);
        if (bh_json_member(at, "workspace", &member)) {
                if (bh_name_decode(&member, &name, error) < 0)
                        return -1;
                request->workspace = bh_strdup(name);
        }
        return 0;
}

/* How it runs: limits, min_tier, labels. */
static int bounds_decode(const struct bh_json_at *at, const struct bh_limit_policy *limits,
                         struct bh_request *request, struct bh_error *error)
{
        struct bh_json_at member;
        bool has_limits = bh_json_member(at, "limits", &member);

        if (bh_limits_decode(has_limits ? &member : NULL, limits, &request->limits, error) < 0)
                return -1;
        request->has_min_tier = bh_json_member(at, "min_tier", &member);
        if (request->has_min_tier && bh_tier_decode(&member, &request->min_tier, error) < 0)
                return -1;
        if (!bh_json_member(at, "labels", &member)) {
                request->labels = json_object();
                return 0;
        }
        return bh_labels_decode(&member, &request->labels, error);
}

int bh_request_decode(const struct bh_json_at *at, const struct bh_limit_policy *limits,
                      uint64_t payload_size, struct bh_request **ret, struct bh_error *error)
{
        static const char *const members[] = {"agent",  "argv",     "cwd",       "stdin",
                                              "env",    "image",    "workspace", "files",
                                              "limits", "min_tier", "labels",    NULL};
        _cleanup_(bh_request_cleanup) struct bh_request *request = bh_alloc(sizeof(*request));
        struct bh_json_at member;

        if (bh_json_object(at, members, error) < 0 || command_decode(at, request, error) < 0)
                return -1;
        if (bh_json_member(at, "stdin", &member) &&
            stdin_decode(&member, payload_size, request, error) < 0)
                return -1;
        if (bh_json_member(at, "files", &member) &&
            files_decode(&member, payload_size, request, error) < 0)
                return -1;
        if (bounds_decode(at, limits, request, error) < 0)
                return -1;
        *ret = bh_steal_ptr(&request);
        return 0;
}

void bh_request_free(struct bh_request *request)
{
        if (!request)
                return;
        free(request->agent);
        bh_strings_free(request->argv, request->argc);
        free(request->cwd);
        json_decref(request->environment);
        free(request->image);
        free(request->workspace);
        for (size_t i = 0; i < request->file_count; i++)
                free(request->files[i].path);
        free(request->files);
        json_decref(request->labels);
        free(request);
}
