/* Attribute files that v1 and v2 share, and those of v2
 * (Documentation/admin-guide/cgroup-v2.rst); see cgroup_files.h. */
#include "drivers/kernel/cgroup_files.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"

#define ATTRIBUTE_BYTES_MAX 4096

int bh_cgroup_check_name(const char *name, struct bh_error *error)
{
        if (name[0] == '\0' || name[0] == '.' || strchr(name, '/'))
                return bh_error_set(error, BH_ERROR_INTERNAL, "bad cgroup name");
        return 0;
}

int bh_cgroup_open(const char *path)
{
        return open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* A whole non-negative decimal number up to the end of a line or text. */
static int parse_number(const char *text, int64_t *ret)
{
        char *end;
        long long value;

        if (*text < '0' || *text > '9')
                return -1;
        errno = 0;
        value = strtoll(text, &end, 10);
        if (errno != 0 || (*end != '\0' && *end != '\n'))
                return -1;
        *ret = value;
        return 0;
}

int bh_cgroup_read_number(int directory, const char *file, int64_t *ret, struct bh_error *error)
{
        _cleanup_free_ char *text = NULL;

        if (bh_read_file(directory, file, ATTRIBUTE_BYTES_MAX, &text, NULL, error) < 0)
                return -1;
        if (strcmp(text, "max\n") == 0 || strcmp(text, "max") == 0) {
                *ret = INT64_MAX;
                return 0;
        }
        if (parse_number(text, ret) < 0)
                return bh_error_set(error, BH_ERROR_SYSTEM, "%s holds no number", file);
        return 0;
}

int bh_cgroup_read_keyed(int directory, const char *file, const char *key, int64_t *ret,
                         struct bh_error *error)
{
        _cleanup_free_ char *text = NULL;
        char *save = NULL;
        size_t size = strlen(key);

        if (bh_read_file(directory, file, ATTRIBUTE_BYTES_MAX, &text, NULL, error) < 0)
                return -1;
        for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
                if (strncmp(line, key, size) == 0 && line[size] == ' ' &&
                    parse_number(line + size + 1, ret) == 0)
                        return 0;
        }
        return bh_error_set(error, BH_ERROR_SYSTEM, "%s has no number for %s", file, key);
}

int bh_cgroup_set_number(int directory, const char *file, int64_t value, int64_t expected,
                         struct bh_error *error)
{
        _cleanup_free_ char *text = bh_format("%" PRId64, value);
        int64_t held = -1;

        if (bh_write_attribute(directory, file, text, error) < 0 ||
            bh_cgroup_read_number(directory, file, &held, error) < 0)
                return -1;
        if (held != expected)
                return bh_error_set(error, BH_ERROR_SYSTEM,
                                    "%s holds %" PRId64 " after writing %" PRId64, file, held,
                                    value);
        return 0;
}

int bh_cgroup_set_pids(int directory, int64_t pids, struct bh_error *error)
{
        return bh_cgroup_set_number(directory, "pids.max", pids, pids, error);
}

int bh_cgroup_check_no_swap(const char *swaps_path, struct bh_error *error)
{
        _cleanup_free_ char *text = NULL;
        const char *header_end;

        if (bh_read_file(AT_FDCWD, swaps_path, (size_t)1 << 16, &text, NULL, error) < 0)
                return -1;
        header_end = strchr(text, '\n');
        if (header_end && header_end[1] != '\0')
                return bh_error_errno(error, EOPNOTSUPP,
                                      "this host has swap, whose use by cgroup is not counted");
        return 0;
}

int bh_cgroup_v2_set_memory(int directory, int64_t bytes, struct bh_error *error)
{
        int64_t page = sysconf(_SC_PAGESIZE);
        int64_t group_kill = -1;

        if (bh_cgroup_set_number(directory, "memory.max", bytes, bytes / page * page, error) < 0)
                return -1;
        if (faccessat(directory, "memory.swap.max", F_OK, 0) == 0) {
                if (bh_cgroup_set_number(directory, "memory.swap.max", 0, 0, error) < 0)
                        return -1;
        } else if (bh_cgroup_check_no_swap("/proc/swaps", error) < 0) {
                return -1;
        }
        /* One process that asks for too much must not take its neighbours with it: which one
         * died decides the execution's outcome. */
        if (bh_cgroup_read_number(directory, "memory.oom.group", &group_kill, error) < 0)
                return -1;
        if (group_kill != 0)
                return bh_cgroup_set_number(directory, "memory.oom.group", 0, 0, error);
        return 0;
}

int bh_cgroup_v2_cpu(int directory, int64_t *ret_us, struct bh_error *error)
{
        return bh_cgroup_read_keyed(directory, "cpu.stat", "usage_usec", ret_us, error);
}

int bh_cgroup_v2_memory(int directory, struct bh_usage *ret, struct bh_error *error)
{
        int64_t peak = 0;

        if (bh_cgroup_read_number(directory, "memory.peak", &peak, error) < 0 ||
            bh_cgroup_read_keyed(directory, "memory.events", "oom_kill", &ret->oom_kills, error) <
                    0)
                return -1;
        ret->memory_peak_bytes = peak;
        return 0;
}

static json_t *number_or_null(int directory, const char *file)
{
        int64_t value = 0;

        if (bh_cgroup_read_number(directory, file, &value, NULL) < 0)
                return json_null();
        if (value == INT64_MAX)
                return json_string("max");
        return json_integer(value);
}

json_t *bh_cgroup_v2_observe_memory(int directory)
{
        json_t *swap = faccessat(directory, "memory.swap.max", F_OK, 0) == 0
                               ? number_or_null(directory, "memory.swap.max")
                               : json_string("none on this host");

        return json_pack("{so so so}", "limit_bytes", number_or_null(directory, "memory.max"),
                         "swap", swap, "peak_bytes", number_or_null(directory, "memory.peak"));
}

json_t *bh_cgroup_v1_observe_memory(int directory)
{
        json_t *swap = faccessat(directory, "memory.memsw.limit_in_bytes", F_OK, 0) == 0
                               ? json_string("within limit_bytes")
                               : json_string("none on this host");

        return json_pack("{so so so so}", "limit_bytes",
                         number_or_null(directory, "memory.limit_in_bytes"), "swap", swap,
                         "memory_and_swap_bytes",
                         number_or_null(directory, "memory.memsw.limit_in_bytes"), "peak_bytes",
                         number_or_null(directory, "memory.max_usage_in_bytes"));
}
