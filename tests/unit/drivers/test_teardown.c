/* The boundaries of lab.h: every control fails by name and leaves nothing; nothing outlives the
 * shim; many boundaries in a row leave nothing either. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/pidref.h"
#include "drivers/kernel/cgroup.h"
#include "drivers/kernel/image.h"
#include "drivers/kernel/loop.h"
#include "drivers/subprocess/boundary.h"
#include "lab.h"
#include "needs_root.h"

#define RUN(...)    ((const char *const[]){__VA_ARGS__, NULL})
#define ROUNDS      100
#define GONE_WAIT_S 5

static struct bh_lab lab;
static struct bh_lab_outcome outcome;

static void assert_same(const struct bh_lab_count *before)
{
        struct bh_lab_count after;

        bh_lab_count(&lab, &after);
        assert_int_equal(after.descriptors, before->descriptors);
        assert_int_equal(after.mounts, before->mounts);
        assert_int_equal(after.children, before->children);
        assert_int_equal(after.cgroups, before->cgroups);
}

static bool is_shims(const char *control)
{
        return strncmp(control, "limit.", 6) == 0;
}

static void test_each_control_fails_by_name(void **state)
{
        _cleanup_(bh_plan_cleanup) struct bh_plan *plan = bh_lab_plan(RUN("true"));
        struct bh_lab_count before;

        (void)state;
        bh_lab_run(&lab, plan, NULL, &outcome); /* what is made once is made */
        json_decref(outcome.observed);
        bh_lab_count(&lab, &before);
        for (size_t i = 0; i < plan->control_count; i++) {
                const struct bh_lab_input input = {.fault = plan->controls[i]};

                if (is_shims(plan->controls[i]))
                        continue;
                bh_lab_run(&lab, plan, &input, &outcome);
                if (outcome.prepared == 0 || outcome.error.code != BH_ERROR_CONTROL)
                        fail_msg("%s did not fail by its name: %s", plan->controls[i],
                                 outcome.error.message);
                assert_string_equal(outcome.error.subject, plan->controls[i]);
                assert_same(&before);
        }
}

static void test_named_workspace_fails_cleanly(void **state)
{
        _cleanup_(bh_plan_cleanup) struct bh_plan *plan = bh_lab_plan(RUN("true"));
        _cleanup_close_ int directory = bh_make_directory(lab.host.state_dir, 0700, NULL);
        struct bh_lab_input input = {.fault = "workspace"};
        struct bh_lab_count before;
        struct bh_error error;

        (void)state;
        plan->workspace_kind = BH_WORKSPACE_NAMED;
        input.workspace_image = bh_image_make_unnamed(directory, 1 << 20, 1000, 1000, &error);
        assert_ok(input.workspace_image, error);
        bh_lab_count(&lab, &before);
        bh_lab_run(&lab, plan, &input, &outcome);
        assert_int_equal(outcome.prepared, -1);
        assert_string_equal(outcome.error.subject, "workspace");
        assert_same(&before);
        assert_int_equal(bh_loop_holds(input.workspace_image, &error), 0);
        bh_close(input.workspace_image);
}

static void test_unknown_control_is_refused(void **state)
{
        _cleanup_(bh_plan_cleanup) struct bh_plan *plan = bh_lab_plan(RUN("true"));

        (void)state;
        free(plan->controls[3]);
        plan->controls[3] = bh_strdup("quantum.entanglement");
        bh_lab_run(&lab, plan, NULL, &outcome);
        assert_int_equal(outcome.prepared, -1);
        assert_int_equal(outcome.error.code, BH_ERROR_CONTROL);
        assert_string_equal(outcome.error.subject, "quantum.entanglement");
}

static void test_plans_beyond_the_driver_are_refused(void **state)
{
        (void)state;
        for (int i = 0; i < 3; i++) {
                _cleanup_(bh_plan_cleanup) struct bh_plan *plan = bh_lab_plan(RUN("true"));

                if (i == 0)
                        plan->inside_uid = plan->inside_gid = 0;
                if (i == 1)
                        plan->workspace_kind = BH_WORKSPACE_NAMED; /* and no image */
                if (i == 2) {
                        free(plan->image);
                        plan->image = bh_strdup("debian");
                }
                bh_lab_run(&lab, plan, NULL, &outcome);
                assert_int_equal(outcome.prepared, -1);
                assert_int_equal(outcome.error.code, BH_ERROR_UNAVAILABLE);
        }
}

static void test_many_leave_nothing(void **state)
{
        struct bh_lab_count before;

        (void)state;
        bh_lab_command(&lab, RUN("true"), &outcome);
        bh_lab_count(&lab, &before);
        for (int i = 0; i < ROUNDS; i++) {
                bh_lab_command(&lab, RUN("sh", "-c", "echo x > f; sleep 0 &"), &outcome);
                assert_int_equal(outcome.prepared, 0);
                assert_false(outcome.end.lost);
        }
        assert_same(&before);
}

/* A released boundary that was never started, or still runs, is gone. */
static void test_release_ends_it(void **state)
{
        _cleanup_(bh_plan_cleanup) struct bh_plan *plan = bh_lab_plan(RUN("sleep", "99"));
        struct bh_lab_count before;

        (void)state;
        bh_lab_count(&lab, &before);
        for (int started = 0; started < 2; started++) {
                struct bh_lab_instance instance;
                struct bh_boundary *boundary;
                struct bh_error error;

                bh_lab_instance_open(&lab, NULL, &instance);
                assert_ok(
                        lab.driver->prepare(&lab.host, plan, &instance.instance, &boundary, &error),
                        error);
                if (started)
                        assert_ok(lab.driver->start(boundary, &error), error);
                lab.driver->release(boundary);
                assert_ok(lab.driver->destroy(&lab.host, instance.instance.id, &error), error);
                bh_lab_instance_close(&instance);
                assert_same(&before);
        }
}

/* ---- the shim's death ---- */

/* A stand-in for the shim: prepares, perhaps starts, tells who is inside, and waits. */
static void run_shim(int report, bool start)
{
        struct bh_plan *plan = bh_lab_plan(RUN("sh", "-c", "setsid sleep 99 & sleep 99"));
        struct bh_lab_instance instance;
        struct bh_boundary *boundary;
        struct bh_error error;
        pid_t inside[2];

        bh_lab_instance_open(&lab, NULL, &instance);
        if (lab.driver->prepare(&lab.host, plan, &instance.instance, &boundary, &error) < 0 ||
            (start && lab.driver->start(boundary, &error) < 0))
                _exit(EXIT_FAILURE);
        bh_lab_processes(boundary, &inside[0], &inside[1]);
        if (write(report, inside, sizeof(inside)) != sizeof(inside) ||
            write(report, instance.instance.id, sizeof(instance.instance.id)) !=
                    sizeof(instance.instance.id))
                _exit(EXIT_FAILURE);
        pause();
}

static void assert_goes(struct bh_pidref *ref)
{
        struct bh_error error;
        struct bh_pidref again;

        for (int i = 0; i < GONE_WAIT_S * 100; i++) {
                struct timespec pause = {.tv_nsec = 10000000};

                if (bh_pidref_reopen(ref->pid, ref->start_time, &again, &error) < 0)
                        return;
                bh_pidref_clear(&again);
                waitpid(-1, NULL, WNOHANG); /* we are its reaper now */
                nanosleep(&pause, NULL);
        }
        fail_msg("process %d is still there", (int)ref->pid);
}

static void check_shim_death(bool start)
{
        struct bh_pidref refs[2];
        struct bh_error error;
        char id[BH_ID_SIZE];
        pid_t inside[2], shim;
        int pipes[2];

        assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
        shim = fork();
        if (shim == 0) {
                run_shim(pipes[1], start);
                _exit(EXIT_SUCCESS);
        }
        bh_close(pipes[1]); /* so that a shim that fails is an end, not a wait */
        assert_int_equal(bh_read_full(pipes[0], inside, sizeof(inside)), sizeof(inside));
        assert_int_equal(bh_read_full(pipes[0], id, sizeof(id)), sizeof(id));
        for (int i = 0; i < 2; i++)
                assert_ok(bh_pidref_open(inside[i], &refs[i], &error), error);
        kill(shim, SIGKILL); /* our own child, not reaped yet */
        assert_int_equal(waitpid(shim, NULL, 0), shim);
        for (int i = 0; i < 2; i++) {
                assert_goes(&refs[i]);
                bh_pidref_clear(&refs[i]);
        }
        while (waitpid(-1, NULL, 0) > 0)
                continue;
        assert_ok(lab.driver->destroy(&lab.host, id, &error), error);
        bh_close(pipes[0]);
}

static void test_nothing_outlives_the_shim(void **state)
{
        struct bh_lab_count before;

        (void)state;
        bh_lab_count(&lab, &before);
        check_shim_death(false);
        check_shim_death(true);
        assert_same(&before);
}

/* ---- install and probe ---- */

static void test_install_is_repeatable(void **state)
{
        struct bh_lab_count before;
        struct bh_error error;

        (void)state;
        bh_lab_count(&lab, &before);
        assert_ok(lab.driver->install(&lab.host, &error), error);
        assert_same(&before);
        bh_lab_command(&lab, RUN("true"), &outcome);
        assert_int_equal(outcome.prepared, 0);
}

static void test_probe(void **state)
{
        struct bh_lab_count before;
        enum bh_tier tier = bh_lab_tier();
        struct bh_host host;
        struct bh_error error;

        (void)state;
        bh_lab_count(&lab, &before);
        assert_ok(bh_drivers_probe(&lab.host, &host, &error), error);
        if (!host.tier[tier].available)
                fail_msg("%s", host.tier[tier].missing[0].what);
        assert_string_equal(host.tier[tier].driver, lab.driver->name);
        assert_non_null(host.tier[tier].technology);
        assert_non_null(host.tier[tier].version);
        assert_true(host.tier[tier].features & 1U << BH_FEATURE_NAMED_WORKSPACE);
        assert_int_equal(host.tier[tier].features >> BH_FEATURE_MOUNTS & 1,
                         tier == BH_TIER_SUBPROCESS);
        assert_false(host.tier[BH_TIER_VM].available);
        assert_int_equal(host.tier[BH_TIER_VM].missing_count, 1);
        assert_false(host.kvm_usable);
        bh_host_clear(&host);
        assert_same(&before);
}

static void test_probe_says_what_is_missing(void **state)
{
        _cleanup_free_ char *filter =
                bh_format("%s/seccomp/%s.bpf", lab.host.run_dir, lab.driver->name);
        struct bh_tier_host tier;
        struct bh_error error;

        (void)state;
        assert_int_equal(unlink(filter), 0);
        bh_lab_doubt(&lab);
        assert_ok(lab.driver->probe(&lab.host, bh_lab_tier(), &tier, &error), error);
        assert_false(tier.available);
        assert_non_null(strstr(tier.missing[0].what, "seccomp: "));
        if (bh_lab_tier() == BH_TIER_SUBPROCESS)
                assert_non_null(strstr(tier.missing[0].fix, "start the broker again"));
        bh_tier_host_clear(&tier);
        assert_ok(lab.driver->install(&lab.host, &error), error);
        assert_ok(lab.driver->probe(&lab.host, bh_lab_tier(), &tier, &error), error);
        assert_true(tier.available);
        bh_tier_host_clear(&tier);
}

static void test_fixes_fit_their_causes(void **state)
{
        static const struct {
                const char *control;
                int errnum;
                const char *fix;
        } cases[] = {
                {"cgroup.memory", ENODEV, "mount -t cgroup2"},
                {"cgroup.pids", ENOENT, "who removes"},
                {"cgroup.cpu", EROFS, "remount,rw"},
                {"cgroup.memory", EOPNOTSUPP, "swapoff"},
                {"namespace.user", ENOSPC, "max_user_namespaces"},
                {"namespace.pid", ENOSPC, "user.max_*_namespaces"},
                {"namespace.user", EPERM, "as root"},
                {"landlock", ENOSYS, "CONFIG_SECURITY_LANDLOCK"},
                {"workspace", ENODEV, "ext4"},
        };

        (void)state;
        for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
                assert_non_null(
                        strstr(bh_subprocess_fix(cases[i].control, cases[i].errnum), cases[i].fix));
        assert_string_equal(bh_subprocess_fix("cgroup.memory", EIO), "");
        assert_string_equal(bh_subprocess_fix("cgroup.memory", 0), "");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_each_control_fails_by_name),
                cmocka_unit_test(test_named_workspace_fails_cleanly),
                cmocka_unit_test(test_unknown_control_is_refused),
                cmocka_unit_test(test_plans_beyond_the_driver_are_refused),
                cmocka_unit_test(test_many_leave_nothing),
                cmocka_unit_test(test_release_ends_it),
                cmocka_unit_test(test_nothing_outlives_the_shim),
                cmocka_unit_test(test_install_is_repeatable),
                cmocka_unit_test(test_probe),
                cmocka_unit_test(test_probe_says_what_is_missing),
                cmocka_unit_test(test_fixes_fit_their_causes),
        };

        if (bh_test_lacks_root("boundaries"))
                return TEST_SKIPPED;
        /* Orphans of a dead shim come to us, so that they can be seen to be gone. */
        prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
        return bh_lab_run_tests(&lab, tests);
}
