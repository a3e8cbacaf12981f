/* The formats of the cgroup attribute files, on a made-up directory; needs no privilege. */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "drivers/kernel/cgroup_files.h"

struct tree {
        char path[64];
        int fd;
};

static int make_tree(void **state)
{
        struct tree *tree = calloc(1, sizeof(*tree));

        strcpy(tree->path, "/tmp/bulkhead-cgroup-XXXXXX");
        if (!mkdtemp(tree->path))
                return -1;
        tree->fd = open(tree->path, O_PATH | O_DIRECTORY | O_CLOEXEC);
        *state = tree;
        return tree->fd < 0;
}

static int remove_entry(const char *path, const struct stat *stat, int type, struct FTW *where)
{
        (void)stat;
        (void)type;
        (void)where;
        return remove(path);
}

static int remove_tree(void **state)
{
        struct tree *tree = *state;

        close(tree->fd);
        nftw(tree->path, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
        free(tree);
        return 0;
}

static void put(const struct tree *tree, const char *name, const char *text)
{
        _cleanup_close_ int fd =
                openat(tree->fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

        assert_true(fd >= 0);
        assert_int_equal(bh_write_full(fd, text, strlen(text)), 0);
}

static void put_v2(const struct tree *tree)
{
        /* As Linux 6.1 writes them for a new cgroup; an empty file takes a number whole. */
        put(tree, "memory.max", "");
        put(tree, "memory.swap.max", "");
        put(tree, "memory.oom.group", "0\n");
        put(tree, "memory.peak", "4096000\n");
        put(tree, "memory.events", "low 0\nhigh 0\nmax 77\noom 3\noom_kill 2\noom_group_kill 9\n");
        put(tree, "cpu.stat", "usage_usec 123456\nuser_usec 100000\nsystem_usec 23456\n");
}

static void test_numbers(void **state)
{
        static const struct {
                const char *text;
                int result;
                int64_t value;
        } cases[] = {
                {"0\n", 0, 0},
                {"9223372036854771712\n", 0, 9223372036854771712},
                {"max\n", 0, INT64_MAX},
                {"12", 0, 12},
                {"", -1, 0},
                {"\n", -1, 0},
                {"-1\n", -1, 0},
                {"12 13\n", -1, 0},
                {"12k\n", -1, 0},
                {"maximum\n", -1, 0},
                {"99999999999999999999\n", -1, 0},
        };
        struct tree *tree = *state;

        for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
                struct bh_error error = {0};
                int64_t value = -7;

                put(tree, "number", cases[i].text);
                assert_int_equal(bh_cgroup_read_number(tree->fd, "number", &value, &error),
                                 cases[i].result);
                assert_true(value == (cases[i].result == 0 ? cases[i].value : -7));
        }
}

/* A key is a whole word: "oom" is neither "oom_kill" nor the other way round. */
static void test_keys(void **state)
{
        struct tree *tree = *state;
        struct bh_error error = {0};
        int64_t value = 0;

        put_v2(tree);
        assert_int_equal(
                bh_cgroup_read_keyed(tree->fd, "memory.events", "oom_kill", &value, &error), 0);
        assert_int_equal(value, 2);
        assert_int_equal(bh_cgroup_read_keyed(tree->fd, "memory.events", "oom", &value, &error), 0);
        assert_int_equal(value, 3);
        assert_int_equal(bh_cgroup_read_keyed(tree->fd, "memory.events", "oom_k", &value, &error),
                         -1);
}

static void test_v2_memory(void **state)
{
        struct tree *tree = *state;
        _cleanup_json_ json_t *seen = NULL;
        struct bh_error error = {0};
        int64_t value = 0;

        put_v2(tree);
        assert_int_equal(bh_cgroup_v2_set_memory(tree->fd, 268435456, &error), 0);
        assert_int_equal(bh_cgroup_read_number(tree->fd, "memory.max", &value, &error), 0);
        assert_int_equal(value, 268435456);
        assert_int_equal(bh_cgroup_read_number(tree->fd, "memory.swap.max", &value, &error), 0);
        assert_int_equal(value, 0);
        seen = bh_cgroup_v2_observe_memory(tree->fd);
        assert_int_equal(json_integer_value(json_object_get(seen, "limit_bytes")), 268435456);
        assert_int_equal(json_integer_value(json_object_get(seen, "swap")), 0);
        assert_int_equal(json_integer_value(json_object_get(seen, "peak_bytes")), 4096000);
}

/* A file that does not hold what was written: the made-up file does not round down to pages
 * as the kernel does, so an odd limit is not what must be held. */
static void test_v2_memory_not_held(void **state)
{
        struct tree *tree = *state;
        struct bh_error error = {0};

        put_v2(tree);
        assert_int_equal(bh_cgroup_v2_set_memory(tree->fd, 268435457, &error), -1);
        assert_non_null(strstr(error.message, "memory.max holds 268435457"));
}

static void test_v2_oom_group(void **state)
{
        struct tree *tree = *state;
        struct bh_error error = {0};
        int64_t value = -1;

        put_v2(tree);
        put(tree, "memory.oom.group", "1\n");
        assert_int_equal(bh_cgroup_v2_set_memory(tree->fd, 1 << 20, &error), 0);
        assert_int_equal(bh_cgroup_read_number(tree->fd, "memory.oom.group", &value, &error), 0);
        assert_int_equal(value, 0);
}

static void test_v2_usage(void **state)
{
        struct tree *tree = *state;
        struct bh_usage usage = {0};
        struct bh_error error = {0};

        put_v2(tree);
        assert_int_equal(bh_cgroup_v2_cpu(tree->fd, &usage.cpu_us, &error), 0);
        assert_int_equal(bh_cgroup_v2_memory(tree->fd, &usage, &error), 0);
        assert_int_equal(usage.cpu_us, 123456);
        assert_int_equal(usage.memory_peak_bytes, 4096000);
        assert_int_equal(usage.oom_kills, 2);
        unlinkat(tree->fd, "memory.peak", 0);
        usage.memory_peak_bytes = -1;
        assert_int_equal(bh_cgroup_v2_memory(tree->fd, &usage, &error), -1);
        assert_int_equal(usage.memory_peak_bytes, -1);
}

static void test_v1_usage(void **state)
{
        struct tree *tree = *state;
        struct bh_usage usage = {0};
        struct bh_error error = {0};

        put(tree, "cpuacct.usage", "5000999\n");
        put(tree, "memory.max_usage_in_bytes", "8192\n");
        put(tree, "memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 4\n");
        assert_int_equal(bh_cgroup_v1_cpu(tree->fd, &usage.cpu_us, &error), 0);
        assert_int_equal(bh_cgroup_v1_memory(tree->fd, &usage, &error), 0);
        assert_int_equal(usage.cpu_us, 5000);
        assert_int_equal(usage.memory_peak_bytes, 8192);
        assert_int_equal(usage.oom_kills, 4);
}

static void test_v1_oom_kill_disabled(void **state)
{
        struct tree *tree = *state;
        struct bh_error error = {0};

        put(tree, "memory.limit_in_bytes", "");
        put(tree, "memory.memsw.limit_in_bytes", "");
        put(tree, "memory.kmem.tcp.limit_in_bytes", "");
        put(tree, "memory.oom_control", "oom_kill_disable 1\nunder_oom 0\noom_kill 0\n");
        assert_int_equal(bh_cgroup_v1_set_memory(tree->fd, 1 << 20, &error), -1);
        put(tree, "memory.limit_in_bytes", "");
        put(tree, "memory.memsw.limit_in_bytes", "");
        put(tree, "memory.kmem.tcp.limit_in_bytes", "");
        put(tree, "memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 0\n");
        assert_int_equal(bh_cgroup_v1_set_memory(tree->fd, 1 << 20, &error), 0);
}

static void test_v1_sockets_not_limited(void **state)
{
        struct tree *tree = *state;
        struct bh_error error = {0};

        put(tree, "memory.limit_in_bytes", "");
        put(tree, "memory.memsw.limit_in_bytes", "");
        put(tree, "memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 0\n");
        assert_int_equal(bh_cgroup_v1_set_memory(tree->fd, 1 << 20, &error), -1);
        assert_non_null(strstr(error.message, "memory.kmem.tcp.limit_in_bytes"));
}

static void test_swaps(void **state)
{
        struct tree *tree = *state;
        char path[128];
        struct bh_error error = {0};

        snprintf(path, sizeof(path), "%s/swaps", tree->path);
        put(tree, "swaps", "Filename\t\t\t\tType\t\tSize\n");
        assert_int_equal(bh_cgroup_check_no_swap(path, &error), 0);
        put(tree, "swaps", "Filename\t\t\t\tType\t\tSize\n/dev/zram0 partition 1024 0 100\n");
        assert_int_equal(bh_cgroup_check_no_swap(path, &error), -1);
        assert_int_equal(error.errnum, EOPNOTSUPP);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(test_numbers, make_tree, remove_tree),
                cmocka_unit_test_setup_teardown(test_keys, make_tree, remove_tree),
                cmocka_unit_test_setup_teardown(test_v2_memory, make_tree, remove_tree),
                cmocka_unit_test_setup_teardown(test_v2_memory_not_held, make_tree, remove_tree),
                cmocka_unit_test_setup_teardown(test_v2_oom_group, make_tree, remove_tree),
                cmocka_unit_test_setup_teardown(test_v2_usage, make_tree, remove_tree),
                cmocka_unit_test_setup_teardown(test_v1_usage, make_tree, remove_tree),
                cmocka_unit_test_setup_teardown(test_v1_oom_kill_disabled, make_tree, remove_tree),
                cmocka_unit_test_setup_teardown(test_v1_sockets_not_limited, make_tree,
                                                remove_tree),
                cmocka_unit_test_setup_teardown(test_swaps, make_tree, remove_tree),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
