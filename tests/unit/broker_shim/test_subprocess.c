/* The real bulkhead-shim on the real subprocess driver, with this test as its broker. Needs root
 * and a host that has the tier; works in a mount namespace and a cgroup parent of its own. */
#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/spawn.h"
#include "broker/shim_protocol.h"
#include "broker_double.h"
#include "drivers/kernel/cgroup.h"
#include "order.h"

#define RUN(...)     ((const char *const[]){__VA_ARGS__, NULL})
#define SHELL(text)  RUN("sh", "-c", text)
#define SHIM_PATH    BH_BINARY_DIR "/bin/bulkhead-shim"
#define UID_BASE     1932735283 /* a range that nothing else on a test host uses */
#define WORKLOAD_UID (UID_BASE + 10)
#define INIT_UID     (UID_BASE + 11)

static char base_path[] = "/tmp/shim_subprocess.XXXXXX";
static char cgroup_parent[32];
static struct bh_driver_host host = {.cgroup_parent = cgroup_parent, .uid_base = UID_BASE};
static const struct bh_driver *driver;

static void require(bool holds, const char *what, const struct bh_error *error)
{
        if (!holds)
                fail_msg("%s: %s", what, error->message);
}

static int install_host(void **state)
{
        struct bh_error error = {.message = ""};

        (void)state;
        /* What a killed shim leaves comes to its broker. */
        assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), 0);
        assert_int_equal(unshare(CLONE_NEWNS), 0);
        assert_int_equal(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), 0);
        assert_non_null(mkdtemp(base_path));
        (void)snprintf(cgroup_parent, sizeof(cgroup_parent), "bulkhead.%08x", (unsigned)getpid());
        host.state_dir = bh_format("%s/state", base_path);
        host.run_dir = bh_format("%s/run", base_path);
        bh_close(bh_make_directory(host.state_dir, 0700, &error));
        bh_close(bh_make_directory(host.run_dir, 0700, &error));
        driver = bh_driver_by_name("subprocess");
        assert_non_null(driver);
        require(driver->install(&host, &error) == 0, "install", &error);
        return 0;
}

static int uninstall_host(void **state)
{
        struct bh_error error = {.message = ""};
        _cleanup_free_ char *root = bh_format("%s/roots/host", host.run_dir);
        char *const argv[] = {"rm", "-rf", "--one-file-system", base_path, NULL};
        struct bh_spawn remove = {.path = "/bin/rm", .argv = argv};
        _cleanup_free_ char *output = NULL;

        (void)state;
        require(bh_cgroup_uninstall(&host, &error) == 0, "uninstall", &error);
        while (umount2(root, MNT_DETACH) == 0)
                ;
        assert_int_equal(bh_spawn_capture(&remove, 4096, &output, &error), 0);
        free(host.state_dir);
        free(host.run_dir);
        return 0;
}

/* ---- One execution ---- */

struct fixture {
        struct broker_double broker;
        const char *fault;
};

static int exec_shim(void *data, int channel_fd)
{
        const struct fixture *fixture = data;
        _cleanup_free_ char *fault =
                bh_format("BULKHEAD_FAULT=%s", fixture->fault ? fixture->fault : "");
        char *const argv[] = {"bulkhead-shim", NULL};
        char *const none[] = {NULL}, *const with_fault[] = {fault, NULL};

        if (channel_fd == BH_SHIM_CHANNEL_FD)
                (void)fcntl(channel_fd, F_SETFD, 0);
        else
                (void)dup2(channel_fd, BH_SHIM_CHANNEL_FD);
        (void)setsid();
        execve(SHIM_PATH, argv, fixture->fault ? with_fault : none);
        return 127;
}

static int set_up(void **state)
{
        *state = calloc(1, sizeof(struct fixture));
        return 0;
}

/* Processes that have one of the execution's uids. */
static int count_processes(void)
{
        DIR *proc = opendir("/proc");
        struct dirent *entry;
        int count = 0;

        while ((entry = readdir(proc))) {
                struct stat status;

                if (entry->d_name[0] >= '0' && entry->d_name[0] <= '9' &&
                    fstatat(dirfd(proc), entry->d_name, &status, 0) == 0 &&
                    (status.st_uid == WORKLOAD_UID || status.st_uid == INIT_UID))
                        count++;
        }
        closedir(proc);
        return count;
}

static void assert_nothing_left(void)
{
        char **remains = NULL;

        assert_int_equal(bh_cgroup_list(&host, &remains, NULL), 0);
        assert_null(remains[0]);
        free(remains);
        assert_int_equal(count_processes(), 0);
}

/* Waits for the end of every orphan; the shim was one of them or is already gone. */
static void reap_all(void)
{
        for (int tries = 0; tries < 400; tries++) {
                pid_t pid = waitpid(-1, NULL, WNOHANG);

                if (pid < 0)
                        return;
                if (pid == 0)
                        usleep(5000);
        }
        fail_msg("a process of a killed shim does not end");
}

static int tear_down(void **state)
{
        struct fixture *fixture = *state;

        broker_double_close(&fixture->broker);
        free(fixture);
        assert_nothing_left();
        return 0;
}

static json_t *order_for(const char *const argv[])
{
        json_t *order = order_new("subprocess", argv, RUN("limit.wall"));

        order_set_all_controls(order);
        json_object_set_new(order, "host",
                            json_pack("{s:s, s:s, s:s, s:i}", "state_dir", host.state_dir,
                                      "run_dir", host.run_dir, "cgroup_parent", host.cgroup_parent,
                                      "uid_base", UID_BASE));
        json_object_set_new(
                order, "instance",
                json_pack("{s:i, s:i}", "workload_uid", WORKLOAD_UID, "init_uid", INIT_UID));
        return order;
}

static void begin_take(struct fixture *fixture, json_t *order, const char *payload)
{
        broker_double_open(&fixture->broker, exec_shim, fixture);
        broker_double_start_take(&fixture->broker, order, payload, payload ? strlen(payload) : 0);
}

static void await_running(struct fixture *fixture)
{
        _cleanup_json_ json_t *provisioning = broker_double_hear(&fixture->broker, "state");
        _cleanup_json_ json_t *running = broker_double_hear(&fixture->broker, "state");

        assert_non_null(provisioning);
        if (!running)
                fail_msg("it did not start");
}

/* Takes the result; by then nothing of the execution is left. */
static json_t *result_of(struct fixture *fixture)
{
        json_t *result = broker_double_hear(&fixture->broker, "result");

        assert_non_null(result);
        assert_nothing_left();
        broker_double_say(&fixture->broker, "{\"type\": \"taken\"}");
        assert_int_equal(broker_double_wait_shim(&fixture->broker), 0);
        return result;
}

static json_t *run_take(struct fixture *fixture, json_t *order, const char *payload)
{
        begin_take(fixture, order, payload);
        return result_of(fixture);
}

static const char *text_of(const json_t *object, const char *key)
{
        const char *text = json_string_value(json_object_get(object, key));

        return text ? text : "";
}

static json_int_t number_in(const json_t *object, const char *key, const char *inner)
{
        return json_integer_value(json_object_get(json_object_get(object, key), inner));
}

static void assert_outcome(const json_t *result, const char *outcome)
{
        if (strcmp(text_of(result, "outcome"), outcome) != 0)
                fail_msg("%s, not %s: %s", text_of(result, "outcome"), outcome,
                         text_of(result, "detail"));
}

static void assert_exit_take(json_t *result, json_int_t code)
{
        assert_outcome(result, "exited");
        assert_int_equal(json_integer_value(json_object_get(result, "exit_code")), code);
        json_decref(result);
}

static void assert_output(struct fixture *fixture, const char *name, const char *expected)
{
        _cleanup_free_ char *text = broker_double_read(&fixture->broker, name, NULL);

        assert_string_equal(text, expected);
}

/* ---- Ends ---- */

static void true_exits_with_all_its_evidence(void **state)
{
        struct fixture *fixture = *state;
        json_t *order = order_for(RUN("true"));
        _cleanup_json_ json_t *controls =
                json_incref(json_object_get(json_object_get(order, "plan"), "controls"));
        _cleanup_json_ json_t *result = run_take(fixture, order, NULL);
        size_t index;
        json_t *control;

        assert_outcome(result, "exited");
        assert_true(json_array_size(controls) > 20);
        json_array_foreach (controls, index, control) {
                json_t *seen = json_object_get(json_object_get(result, "evidence"),
                                               json_string_value(control));

                assert_true(json_is_true(json_object_get(seen, "holds")));
        }
        assert_true(number_in(result, "usage", "memory_peak_bytes") > 0);
}

static void ends_are_told_apart(void **state)
{
        struct fixture *fixture = *state;
        _cleanup_json_ json_t *result = NULL;

        assert_exit_take(run_take(fixture, order_for(SHELL("exit 137")), NULL), 137);
        tear_down(state);
        set_up(state);
        fixture = *state;
        result = run_take(fixture, order_for(SHELL("kill -SEGV $$")), NULL);
        assert_outcome(result, "signaled");
        assert_string_equal(text_of(result, "signal"), "SIGSEGV");
}

static void a_missing_command_is_127(void **state)
{
        struct fixture *fixture = *state;
        _cleanup_free_ char *text = NULL;

        assert_exit_take(run_take(fixture, order_for(RUN("no-such-command")), NULL), 127);
        text = broker_double_read(&fixture->broker, "stderr", NULL);
        assert_non_null(strstr(text, "no-such-command"));
}

static void what_it_leaves_running_is_killed(void **state)
{
        struct fixture *fixture = *state;
        _cleanup_json_ json_t *result = run_take(
                fixture, order_for(SHELL("setsid sleep 999 & (sleep 998 &) ; echo hi")), NULL);

        assert_outcome(result, "exited");
        assert_true(number_in(result, "usage", "wall_ms") < 5000);
        assert_output(fixture, "stdout", "hi\n");
}

/* ---- Streams ---- */

static void stdin_and_files_come_from_the_payload(void **state)
{
        struct fixture *fixture = *state;
        json_t *order = order_for(SHELL("cat; cat dir/main.py; cat missing; cat > /dev/stdout"));

        json_object_set_new(order, "files",
                            json_pack("[{s:s, s:i, s:i, s:i}]", "path", "dir/main.py", "mode", 0644,
                                      "offset", 6, "length", 5));
        json_object_set_new(order, "stdin", json_pack("{s:i, s:i}", "offset", 0, "length", 6));
        assert_exit_take(run_take(fixture, order, "input\nfile\n"), 0);
        assert_output(fixture, "stdout", "input\nfile\n");
}

static void it_has_three_descriptors_and_plain_signals(void **state)
{
        struct fixture *fixture = *state;
        const char *script = "for fd in /proc/self/fd/*; do test -e $fd && echo ${fd##*/}; done;"
                             "grep -E '^Sig(Blk|Ign)' /proc/self/status > /dev/stderr";

        assert_exit_take(run_take(fixture, order_for(SHELL(script)), NULL), 0);
        assert_output(fixture, "stdout", "0\n1\n2\n");
        assert_output(fixture, "stderr", "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n");
}

static void a_flood_is_cut_and_timed_out(void **state)
{
        struct fixture *fixture = *state;
        json_t *order = order_for(RUN("yes"));
        _cleanup_json_ json_t *result = NULL;
        _cleanup_free_ char *head = NULL;
        size_t size;

        order_set_limit(order, "wall_ms", 300);
        order_set_limit(order, "output_bytes", 100001);
        result = run_take(fixture, order, NULL);
        assert_outcome(result, "timeout");
        assert_true(number_in(result, "stdout", "bytes") > 100001);
        assert_int_equal(number_in(result, "stdout", "bytes") -
                                 number_in(result, "stdout", "dropped_bytes"),
                         100001);
        head = broker_double_read(&fixture->broker, "stdout", &size);
        assert_int_equal(size, 100001);
        assert_memory_equal(head + size - 3, "y\ny", 3);
}

static void every_last_byte_comes_each_time(void **state)
{
        for (int i = 0; i < 200; i++) {
                struct fixture *fixture;

                if (i > 0) {
                        tear_down(state);
                        set_up(state);
                }
                fixture = *state;
                assert_exit_take(
                        run_take(fixture, order_for(RUN("printf", "tail-without-newline")), NULL),
                        0);
                assert_output(fixture, "stdout", "tail-without-newline");
        }
}

/* ---- Limits and kills ---- */

static void cpu_time_of_all_its_processes_counts(void **state)
{
        struct fixture *fixture = *state;
        json_t *order = order_for(SHELL("(while :; do :; done) & while :; do :; done"));
        _cleanup_json_ json_t *result = NULL;

        order_set_limit(order, "cpu_ms", 200);
        result = run_take(fixture, order, NULL);
        assert_outcome(result, "cpu_limit");
        assert_true(number_in(result, "usage", "cpu_ms") >= 200);
        assert_true(number_in(result, "usage", "cpu_ms") < 400);
}

static void memory_ends_as_oom(void **state)
{
        struct fixture *fixture = *state;
        json_t *order = order_for(RUN("tail", "/dev/zero"));
        _cleanup_json_ json_t *result = NULL;

        order_set_limit(order, "memory_bytes", 32 << 20);
        result = run_take(fixture, order, NULL);
        assert_outcome(result, "oom");
        assert_true(number_in(result, "usage", "oom_kills") > 0);
        assert_true(number_in(result, "usage", "memory_peak_bytes") <= 32 << 20);
}

static void a_kill_ends_everything(void **state)
{
        struct fixture *fixture = *state;
        _cleanup_json_ json_t *result = NULL;

        begin_take(fixture, order_for(SHELL("trap '' TERM INT HUP; sleep 99 & sleep 98")), NULL);
        await_running(fixture);
        broker_double_say(&fixture->broker,
                          "{\"type\": \"kill\", \"outcome\": \"killed\", \"detail\": \"enough\"}");
        result = result_of(fixture);
        assert_outcome(result, "killed");
        assert_string_equal(text_of(result, "detail"), "enough");
}

static void sigterm_tears_down_and_reports(void **state)
{
        struct fixture *fixture = *state;
        _cleanup_json_ json_t *result = NULL;

        begin_take(fixture, order_for(RUN("sleep", "99")), NULL);
        await_running(fixture);
        assert_int_equal(kill(fixture->broker.shim, SIGINT), 0);
        assert_int_equal(kill(fixture->broker.shim, SIGHUP), 0);
        assert_int_equal(kill(fixture->broker.shim, SIGTERM), 0);
        result = result_of(fixture);
        assert_outcome(result, "killed");
        assert_string_equal(text_of(result, "detail"), "the shim was told to stop");
}

/* ---- Deaths ---- */

static void a_new_broker_adopts(void **state)
{
        struct fixture *fixture = *state;
        _cleanup_json_ json_t *status = NULL;

        begin_take(fixture, order_for(SHELL("sleep 0.3; echo on; exit 3")), NULL);
        await_running(fixture);
        broker_double_die(&fixture->broker);
        broker_double_adopt(&fixture->broker);
        status = broker_double_hear(&fixture->broker, "status");
        assert_string_equal(text_of(status, "state"), "running");
        assert_exit_take(result_of(fixture), 3);
        assert_output(fixture, "stdout", "on\n");
}

static void without_a_broker_the_result_is_stored(void **state)
{
        struct fixture *fixture = *state;

        begin_take(fixture, order_for(SHELL("sleep 0.2; exit 4")), NULL);
        await_running(fixture);
        broker_double_die(&fixture->broker);
        assert_int_equal(broker_double_wait_shim(&fixture->broker), 0);
        assert_exit_take(broker_double_stored_result(&fixture->broker), 4);
}

static void a_killed_shim_leaves_nothing_that_destroy_does_not_remove(void **state)
{
        struct fixture *fixture = *state;
        struct bh_error error = {.message = ""};

        begin_take(fixture, order_for(SHELL("setsid sleep 99 & sleep 98")), NULL);
        await_running(fixture);
        assert_int_equal(kill(fixture->broker.shim, SIGKILL), 0);
        assert_null(broker_double_hear(&fixture->broker, "result"));
        (void)broker_double_wait_shim(&fixture->broker);
        require(driver->destroy(&host, ORDER_ID, &error) == 0, "destroy", &error);
        reap_all();
        assert_nothing_left();
        require(driver->destroy(&host, ORDER_ID, &error) == 0, "destroy again", &error);
}

/* At any moment of building, running and ending. */
static void a_shim_can_be_killed_at_any_moment(void **state)
{
        for (unsigned step = 0; step < 60; step++) {
                struct fixture *fixture;
                struct bh_error error = {.message = ""};

                if (step > 0) {
                        tear_down(state);
                        set_up(state);
                }
                fixture = *state;
                begin_take(fixture, order_for(SHELL("sleep 98 & sleep 0.002")), NULL);
                usleep(step * 200);
                assert_int_equal(kill(fixture->broker.shim, SIGKILL), 0);
                (void)broker_double_wait_shim(&fixture->broker);
                require(driver->destroy(&host, ORDER_ID, &error) == 0, "destroy", &error);
                reap_all();
                assert_nothing_left();
        }
}

#ifdef BULKHEAD_FAULTS
/* Half-built boundaries, one for each control: named, and nothing left. */
static void every_control_can_fail_cleanly(void **state)
{
        json_t *order = order_for(RUN("true"));
        _cleanup_json_ json_t *controls =
                json_incref(json_object_get(json_object_get(order, "plan"), "controls"));

        json_decref(order);
        for (size_t i = 0; i < json_array_size(controls); i++) {
                struct fixture *fixture;
                _cleanup_json_ json_t *result = NULL;

                if (i > 0) {
                        tear_down(state);
                        set_up(state);
                }
                fixture = *state;
                fixture->fault = json_string_value(json_array_get(controls, i));
                result = run_take(fixture, order_for(RUN("true")), NULL);
                assert_outcome(result, "boundary_failed");
                if (!strstr(text_of(result, "detail"), fixture->fault))
                        fail_msg("%s is not in: %s", fixture->fault, text_of(result, "detail"));
        }
}
#endif

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
        const struct CMUnitTest tests[] = {
                TEST(true_exits_with_all_its_evidence),
                TEST(ends_are_told_apart),
                TEST(a_missing_command_is_127),
                TEST(what_it_leaves_running_is_killed),
                TEST(stdin_and_files_come_from_the_payload),
                TEST(it_has_three_descriptors_and_plain_signals),
                TEST(a_flood_is_cut_and_timed_out),
                TEST(every_last_byte_comes_each_time),
                TEST(cpu_time_of_all_its_processes_counts),
                TEST(memory_ends_as_oom),
                TEST(a_kill_ends_everything),
                TEST(sigterm_tears_down_and_reports),
                TEST(a_new_broker_adopts),
                TEST(without_a_broker_the_result_is_stored),
                TEST(a_killed_shim_leaves_nothing_that_destroy_does_not_remove),
                TEST(a_shim_can_be_killed_at_any_moment),
#ifdef BULKHEAD_FAULTS
                TEST(every_control_can_fail_cleanly),
#endif
        };

        return cmocka_run_group_tests(tests, install_host, uninstall_host);
}
