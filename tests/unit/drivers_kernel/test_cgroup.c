/* Cgroups on the running kernel: with the host's own layout and, where v1 controllers are
 * mounted, also as if there were no v2 tree beside them. Needs root. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/pidref.h"
#include "drivers/kernel/cgroup_layout.h"
#include "needs_root.h"

#define MIB (1 << 20)

static const char id[] = "ex_test";

struct fixture {
        struct bh_cgroup_topology topology;
        char *parent;
};

BH_DEFINE_CLEANUP(struct bh_cgroup *, cgroup, bh_cgroup_free);

static int set_up(struct fixture *fixture, bool without_v2)
{
        _cleanup_free_ char *mountinfo = NULL;
        struct bh_error error = {0};
        char *v2;

        assert_ok(bh_read_file(AT_FDCWD, "/proc/self/mountinfo", MIB, &mountinfo, NULL, &error),
                  error);
        while (without_v2 && (v2 = strstr(mountinfo, " - cgroup2 ")))
                memcpy(v2, " - ignored ", 11);
        if (without_v2 && bh_cgroup_topology_decide(mountinfo, &fixture->topology, &error) < 0) {
                printf("SKIPPED: no v1 hierarchies: %s\n", error.message);
                return -1;
        }
        if (!without_v2)
                assert_ok(bh_cgroup_topology_decide(mountinfo, &fixture->topology, &error), error);
        fixture->parent = bh_format("bulkhead.test-%d", (int)getpid());
        assert_ok(bh_cgroup_install_in(&fixture->topology, fixture->parent, &error), error);
        return 0;
}

static void tear_down(struct fixture *fixture)
{
        struct bh_error error = {0};

        if (!fixture->parent)
                return;
        assert_ok(bh_cgroup_destroy_in(&fixture->topology, fixture->parent, id, &error), error);
        assert_ok(bh_cgroup_uninstall_in(&fixture->topology, fixture->parent, &error), error);
        for (size_t i = 0; i < fixture->topology.count; i++) {
                _cleanup_free_ char *path =
                        bh_format("%s/%s", fixture->topology.hierarchies[i].mount, fixture->parent);

                assert_int_equal(access(path, F_OK), -1);
        }
        bh_cgroup_topology_clear(&fixture->topology);
        free(fixture->parent);
}

static struct bh_cgroup *create(const struct fixture *fixture, int64_t memory, int64_t pids)
{
        struct bh_limits limits = {0};
        struct bh_cgroup *cgroup = NULL;
        struct bh_error error = {0};

        limits.value[BH_LIMIT_MEMORY_BYTES] = memory;
        limits.value[BH_LIMIT_PIDS] = pids;
        assert_ok(bh_cgroup_create_in(&fixture->topology, fixture->parent, id, &limits, &cgroup,
                                      &error),
                  error);
        return cgroup;
}

/* Starts a child in the cgroup the way a driver does: cloned into v2, joining v1 itself. */
static struct bh_pidref run_in(const struct bh_cgroup *cgroup, int (*body)(void))
{
        struct bh_pidref child = BH_PIDREF_NONE;
        struct bh_error error = {0};
        int pidfd = -1, v2 = bh_cgroup_v2_fd(cgroup);
        struct clone_args arguments = {
                .flags = CLONE_PIDFD,
                .pidfd = (uint64_t)(uintptr_t)&pidfd,
                .exit_signal = SIGCHLD,
        };
        int joined[2];
        char byte;
        long pid;

        assert_int_equal(pipe2(joined, O_CLOEXEC), 0);
        if (v2 >= 0) {
                arguments.flags |= CLONE_INTO_CGROUP;
                arguments.cgroup = (unsigned int)v2;
        }
        fflush(NULL);
        pid = syscall(SYS_clone3, &arguments, sizeof(arguments));
        assert_true(pid >= 0);
        if (pid == 0) {
                int result = bh_cgroup_join_v1(cgroup);

                if (result < 0 || write(joined[1], "", 1) != 1)
                        _exit(99);
                _exit(body());
        }
        close(joined[1]);
        assert_int_equal(read(joined[0], &byte, 1), 1);
        close(joined[0]);
        assert_ok(bh_pidref_from_pidfd_take(pidfd, (pid_t)pid, &child, &error), error);
        return child;
}

/* Waits at most ten seconds. Returns the si_code, fills the status. */
static int reap(struct bh_pidref *child, int *ret_status)
{
        struct pollfd ended = {.fd = child->pidfd, .events = POLLIN};
        struct bh_error error = {0};
        int code = 0;

        assert_int_equal(poll(&ended, 1, 10000), 1);
        assert_int_equal(bh_pidref_wait(child, true, &code, ret_status, &error), 1);
        bh_pidref_clear(child);
        return code;
}

/* Until it is killed; the alarm only cleans up after a test that failed. */
static int sleep_long(void)
{
        alarm(60);
        return pause();
}

/* 256 MiB, touched. */
static int eat_memory(void)
{
        size_t size = (size_t)256 * MIB;
        volatile char *block =
                mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        for (size_t i = 0; block != MAP_FAILED && i < size; i += 4096)
                block[i] = 1;
        return 0;
}

static int burn_cpu(void)
{
        struct timespec used;

        do {
                clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
        } while (used.tv_nsec < 100000000);
        return 0;
}

/* The number of children that could be made until the kernel said EAGAIN, at most 50. */
static int fork_bomb(void)
{
        for (int count = 0; count < 50; count++) {
                pid_t pid = fork();

                if (pid < 0)
                        return errno == EAGAIN ? count : 98;
                if (pid == 0)
                        sleep_long();
        }
        return 97;
}

static void check_limits(const struct fixture *fixture)
{
        /* Not a whole page: held rounded down. */
        _cleanup_(cgroup_cleanup) struct bh_cgroup *cgroup = create(fixture, 32 * MIB + 123, 17);
        _cleanup_json_ json_t *seen = bh_cgroup_observe(cgroup);
        const json_t *memory = json_object_get(seen, "memory");

        assert_int_equal(json_integer_value(json_object_get(memory, "limit_bytes")), 32 * MIB);
        assert_true(json_is_integer(json_object_get(memory, "peak_bytes")));
        assert_int_equal(json_integer_value(json_object_get(json_object_get(seen, "pids"), "max")),
                         17);
        assert_string_equal(json_string_value(json_object_get(seen, "layout")),
                            bh_cgroup_layout_name(fixture->topology.layout));
        assert_non_null(strstr(json_string_value(json_object_get(seen, "source")), id));
}

static void check_create_twice(const struct fixture *fixture)
{
        struct bh_cgroup *second = NULL;
        struct bh_limits limits = {.value = {[BH_LIMIT_MEMORY_BYTES] = MIB, [BH_LIMIT_PIDS] = 1}};
        struct bh_error error = {0};

        bh_cgroup_free(create(fixture, MIB, 1)); /* the object, not the cgroup */
        assert_int_equal(bh_cgroup_create_in(&fixture->topology, fixture->parent, id, &limits,
                                             &second, &error),
                         -1);
        assert_int_equal(error.code, BH_ERROR_CONTROL);
        assert_memory_equal(error.subject, "cgroup.", 7);
        assert_null(second);
}

/* Administrators and their tools remove cgroups that nobody is in. */
static void check_parent_gone(const struct fixture *fixture)
{
        struct bh_error error = {0};

        assert_ok(bh_cgroup_uninstall_in(&fixture->topology, fixture->parent, &error), error);
        check_limits(fixture);
}

static void check_refused_limit(const struct fixture *fixture)
{
        struct bh_cgroup *cgroup = NULL;
        /* PIDS_MAX is PID_MAX_LIMIT + 1. */
        struct bh_limits limits = {
                .value = {[BH_LIMIT_MEMORY_BYTES] = MIB, [BH_LIMIT_PIDS] = INT64_MAX}};
        struct bh_error error = {0};

        assert_int_equal(bh_cgroup_create_in(&fixture->topology, fixture->parent, id, &limits,
                                             &cgroup, &error),
                         -1);
        assert_string_equal(error.subject, "cgroup.pids");
        assert_null(cgroup);
}

static void check_oom(const struct fixture *fixture)
{
        _cleanup_(cgroup_cleanup) struct bh_cgroup *cgroup = create(fixture, 8 * MIB, 10);
        struct bh_pidref child = run_in(cgroup, eat_memory);
        struct bh_usage usage;
        struct bh_error error = {0};
        int status;

        assert_int_equal(reap(&child, &status), CLD_KILLED);
        assert_int_equal(status, SIGKILL);
        assert_ok(bh_cgroup_usage(cgroup, &usage, &error), error);
        assert_int_equal(usage.oom_kills, 1);
        assert_true(usage.memory_peak_bytes > 4 * MIB && usage.memory_peak_bytes <= 8 * MIB);
}

static void check_cpu(const struct fixture *fixture)
{
        _cleanup_(cgroup_cleanup) struct bh_cgroup *cgroup = create(fixture, 8 * MIB, 10);
        struct bh_pidref child = run_in(cgroup, burn_cpu);
        struct bh_usage usage;
        struct bh_error error = {0};
        int status;

        assert_int_equal(reap(&child, &status), CLD_EXITED);
        assert_ok(bh_cgroup_usage(cgroup, &usage, &error), error);
        assert_in_range(usage.cpu_us, 95000, 1000000);
        assert_int_equal(usage.oom_kills, 0);
}

static void check_pids_and_kill(const struct fixture *fixture)
{
        _cleanup_(cgroup_cleanup) struct bh_cgroup *cgroup = create(fixture, 64 * MIB, 8);
        struct bh_pidref bomb = run_in(cgroup, fork_bomb);
        struct bh_pidref sleeper;
        struct bh_error error = {0};
        int status;

        assert_int_equal(reap(&bomb, &status), CLD_EXITED);
        assert_int_equal(status, 7);
        assert_ok(bh_cgroup_kill(cgroup, &error), error);
        assert_ok(bh_cgroup_destroy_in(&fixture->topology, fixture->parent, id, &error), error);
        bh_cgroup_free(bh_steal_ptr(&cgroup));

        cgroup = create(fixture, 64 * MIB, 8);
        sleeper = run_in(cgroup, sleep_long);
        assert_ok(bh_cgroup_kill(cgroup, &error), error);
        assert_int_equal(reap(&sleeper, &status), CLD_KILLED);
        assert_ok(bh_cgroup_kill(cgroup, &error), error);
}

/* Destroy kills by itself, takes cgroups that someone made below, and may be repeated. */
static void check_destroy(const struct fixture *fixture)
{
        struct bh_cgroup *cgroup = create(fixture, 64 * MIB, 8);
        struct bh_pidref sleeper = run_in(cgroup, sleep_long);
        struct bh_error error = {0};
        int status;

        for (size_t i = 0; i < fixture->topology.count; i++) {
                _cleanup_free_ char *path =
                        bh_format("%s/%s/%s/below", fixture->topology.hierarchies[i].mount,
                                  fixture->parent, id);

                assert_int_equal(mkdir(path, 0755), 0);
        }
        bh_cgroup_free(cgroup);
        assert_ok(bh_cgroup_destroy_in(&fixture->topology, fixture->parent, id, &error), error);
        assert_int_equal(reap(&sleeper, &status), CLD_KILLED);
        assert_ok(bh_cgroup_destroy_in(&fixture->topology, fixture->parent, id, &error), error);
}

/* A process that is in one hierarchy only, as after a start that stopped half-way. */
static void check_destroy_half_joined(const struct fixture *fixture)
{
        for (size_t i = 0; i < fixture->topology.count; i++) {
                _cleanup_free_ char *path = bh_format(
                        "%s/%s/%s", fixture->topology.hierarchies[i].mount, fixture->parent, id);
                _cleanup_free_ char *procs = bh_format("%s/cgroup.procs", path);
                _cleanup_free_ char *text = NULL;
                struct bh_pidref sleeper = BH_PIDREF_NONE;
                struct bh_error error = {0};
                pid_t pid = fork();
                int status;

                assert_true(pid >= 0);
                if (pid == 0)
                        _exit(sleep_long());
                assert_ok(bh_pidref_open(pid, &sleeper, &error), error);
                text = bh_format("%d", (int)pid);
                assert_int_equal(mkdir(path, 0755), 0);
                assert_ok(bh_write_attribute(AT_FDCWD, procs, text, &error), error);
                assert_ok(bh_cgroup_destroy_in(&fixture->topology, fixture->parent, id, &error),
                          error);
                assert_int_equal(reap(&sleeper, &status), CLD_KILLED);
                assert_int_equal(access(path, F_OK), -1);
        }
}

static void check_list(const struct fixture *fixture)
{
        struct bh_cgroup *cgroup = create(fixture, MIB, 8);
        struct bh_error error = {0};
        char **names = NULL;

        bh_cgroup_free(cgroup);
        assert_ok(bh_cgroup_list_in(&fixture->topology, fixture->parent, &names, &error), error);
        assert_string_equal(names[0], id);
        assert_null(names[1]);
        free(names[0]);
        free(names);
        /* Not empty: stays for the next start to find. */
        assert_ok(bh_cgroup_uninstall_in(&fixture->topology, fixture->parent, &error), error);
        assert_ok(bh_cgroup_destroy_in(&fixture->topology, fixture->parent, id, &error), error);
        assert_ok(bh_cgroup_list_in(&fixture->topology, fixture->parent, &names, &error), error);
        assert_null(names[0]);
        free(names);
        assert_ok(bh_cgroup_list_in(&fixture->topology, "bulkhead.never-made", &names, &error),
                  error);
        assert_null(names[0]);
        free(names);
}

static void check_names(const struct fixture *fixture)
{
        static const char *const bad[] = {"", ".", "..", "../x", "a/b", "/"};

        for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
                struct bh_error error = {0};

                assert_int_equal(
                        bh_cgroup_destroy_in(&fixture->topology, fixture->parent, bad[i], &error),
                        -1);
                assert_int_equal(bh_cgroup_destroy_in(&fixture->topology, bad[i], id, &error), -1);
        }
}

typedef void (*check)(const struct fixture *fixture);

static const check checks[] = {check_limits,        check_create_twice, check_parent_gone,
                               check_refused_limit, check_oom,          check_cpu,
                               check_pids_and_kill, check_destroy,      check_destroy_half_joined,
                               check_list,          check_names};

static void run_checks(bool without_v2)
{
        for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++) {
                struct fixture fixture = {0};

                if (set_up(&fixture, without_v2) < 0)
                        return;
                checks[i](&fixture);
                tear_down(&fixture);
        }
}

static void test_host_layout(void **state)
{
        (void)state;
        run_checks(false);
}

static void test_v1_alone(void **state)
{
        (void)state;
        run_checks(true);
}

/* The public functions read the layout of the host themselves. */
static void test_public(void **state)
{
        _cleanup_free_ char *parent = bh_format("bulkhead.test-public-%d", (int)getpid());
        const struct bh_driver_host host = {.cgroup_parent = parent};
        const struct bh_limits limits = {
                .value = {[BH_LIMIT_MEMORY_BYTES] = MIB, [BH_LIMIT_PIDS] = 5}};
        _cleanup_(cgroup_cleanup) struct bh_cgroup *cgroup = NULL;
        struct bh_error error = {0};
        char **names = NULL;

        (void)state;
        assert_ok(bh_cgroup_install(&host, &error), error);
        assert_ok(bh_cgroup_install(&host, &error), error);
        assert_ok(bh_cgroup_create(&host, id, &limits, &cgroup, &error), error);
        assert_ok(bh_cgroup_list(&host, &names, &error), error);
        assert_string_equal(names[0], id);
        free(names[0]);
        free(names);
        assert_ok(bh_cgroup_destroy(&host, id, &error), error);
        assert_ok(bh_cgroup_uninstall(&host, &error), error);
        assert_ok(bh_cgroup_uninstall(&host, &error), error);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_host_layout),
                cmocka_unit_test(test_v1_alone),
                cmocka_unit_test(test_public),
        };

        if (bh_test_lacks_root("cgroups"))
                return TEST_SKIPPED;
        return cmocka_run_group_tests(tests, NULL, NULL);
}
