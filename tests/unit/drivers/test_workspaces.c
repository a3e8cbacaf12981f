/* The boundaries of lab.h: workspaces and scratch on the running kernel: whose the files are, what
 * earlier executions may have left, and how much fits. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "drivers/kernel/image.h"
#include "lab.h"
#include "needs_root.h"

#define RUN(...)    ((const char *const[]){__VA_ARGS__, NULL})
#define IMAGE_BYTES ((int64_t)4 << 20)
#define PAYLOAD     "first file second"

static struct bh_lab lab;
static struct bh_lab_outcome outcome;

static int make_image(void)
{
        struct bh_error error;
        _cleanup_close_ int directory = bh_make_directory(lab.host.state_dir, 0700, &error);
        int image = bh_image_make_unnamed(directory, IMAGE_BYTES, 1000, 1000, &error);

        assert_ok(image, error);
        return image;
}

static void run_in(int image, bool writable, const struct bh_lab_input *input,
                   const char *const argv[])
{
        _cleanup_(bh_plan_cleanup) struct bh_plan *plan = bh_lab_plan(argv);
        struct bh_lab_input given = input ? *input : (struct bh_lab_input){.payload = NULL};

        if (image >= 0) {
                plan->workspace_kind = BH_WORKSPACE_NAMED;
                plan->workspace_name = bh_strdup("kept");
        }
        plan->workspace_writable = writable;
        given.workspace_image = image;
        bh_lab_run(&lab, plan, &given, &outcome);
        json_decref(outcome.observed);
}

static void assert_output(const char *text)
{
        if (outcome.prepared < 0)
                fail_msg("[%s] %s", outcome.error.subject, outcome.error.message);
        assert_string_equal(outcome.output, text);
}

static void test_files_arrive(void **state)
{
        const struct bh_file_entry files[] = {
                {.path = (char *)"a.txt", .mode = 0644, .offset = 0, .length = 5},
                {.path = (char *)"sub/dir/b", .mode = 0755, .offset = 6, .length = 4},
                {.path = (char *)"sub/empty", .mode = 0, .offset = 17, .length = 0},
                {.path = (char *)"a.txt", .mode = 0600, .offset = 11, .length = 6},
        };
        const struct bh_lab_input input = {.payload = PAYLOAD, .files = files, .file_count = 4};
        int image = make_image();

        (void)state;
        for (int named = 0; named < 2; named++) {
                run_in(named ? image : -1, true, &input,
                       RUN("sh", "-c",
                           "cat a.txt sub/dir/b; find . -name lost+found -prune -o -printf '\\n%P "
                           "%M %U %G' | sort"));
                assert_output("secondfile\n drwx------ 1000 1000\n"
                              "a.txt -rw------- 1000 1000\n"
                              "sub drwxr-xr-x 1000 1000\n"
                              "sub/dir drwxr-xr-x 1000 1000\n"
                              "sub/dir/b -rwxr-xr-x 1000 1000\n"
                              "sub/empty ---------- 1000 1000\n");
        }
        bh_close(image);
}

/* What one execution writes, the next finds, though its host uid is another; on disk it is
 * uid 1000's. */
static void test_named_workspace_is_kept(void **state)
{
        int image = make_image();
        struct bh_error error;
        struct stat status;
        int mount;

        (void)state;
        run_in(image, true, NULL, RUN("sh", "-c", "echo kept > f; mkdir d; id -u > d/g"));
        assert_output("");
        lab.host.uid_base += 100;
        run_in(image, true, NULL,
               RUN("sh", "-c", "cat f d/g; find f d/g -printf '%U\\n'; echo more >> f"));
        lab.host.uid_base -= 100;
        assert_output("kept\n1000\n1000\n1000\n");
        mount = bh_image_mount(image, true, &error);
        assert_ok(mount, error);
        assert_int_equal(fstatat(mount, "f", &status, 0), 0);
        assert_int_equal(status.st_uid, 1000);
        assert_int_equal(status.st_gid, 1000);
        assert_int_equal(status.st_size, strlen("kept\nmore\n"));
        bh_close(mount);
        bh_close(image);
}

static void test_read_only_workspaces(void **state)
{
        const struct bh_file_entry file = {.path = (char *)"given", .mode = 0666, .length = 5};
        const struct bh_lab_input input = {.payload = PAYLOAD, .files = &file, .file_count = 1};
        int image = make_image();

        (void)state;
        for (int named = 0; named < 2; named++) {
                run_in(named ? image : -1, false, &input,
                       RUN("sh", "-c",
                           "cat given; (echo x > given) 2>/dev/null && echo wrote; "
                           "touch new 2>/dev/null && echo made; "
                           "rm -f given 2>/dev/null && echo removed; echo t > /tmp/t && echo ok"));
                assert_output("firstok\n");
        }
        bh_close(image);
}

/* FIELD-CASES A01: the host writes files into a directory that an earlier workload arranged. */
static void test_planted_entries_are_replaced(void **state)
{
        const struct bh_file_entry files[] = {
                {.path = (char *)"link", .mode = 0644, .length = 5},
                {.path = (char *)"hard", .mode = 0644, .length = 5},
                {.path = (char *)"fifo", .mode = 0644, .length = 5},
                {.path = (char *)"sock", .mode = 0644, .length = 5},
                {.path = (char *)"locked/in", .mode = 0644, .length = 5},
        };
        const struct bh_lab_input input = {.payload = PAYLOAD, .files = files, .file_count = 5};
        _cleanup_free_ char *canary = bh_format("%s/canary", lab.directory);
        _cleanup_free_ char *plant = bh_format(
                "ln -s %s link; echo mine > other; ln other hard; mkfifo fifo; mkdir locked; "
                "chmod 0 locked; python3 -c 'import socket; socket.socket(1).bind(\"sock\")'",
                canary);
        _cleanup_free_ char *after = NULL;
        struct bh_error error;
        int image = make_image();

        (void)state;
        assert_ok(bh_write_file_atomic(AT_FDCWD, canary, "canary", 6, 0600, &error), error);
        run_in(image, true, NULL, RUN("sh", "-c", plant));
        assert_output("");
        run_in(image, true, &input,
               RUN("sh", "-c",
                   "find link hard fifo sock -printf '%p %y %U\\n'; chmod 700 locked; "
                   "cat link other locked/in"));
        assert_output("link f 1000\nhard f 1000\nfifo f 1000\nsock f 1000\nfirstmine\nfirst");
        assert_ok(bh_read_file(AT_FDCWD, canary, 64, &after, NULL, &error), error);
        assert_string_equal(after, "canary");
        bh_close(image);
}

/* A link or a file where a directory is needed is an error that names the control. */
static void test_planted_directories_are_not_followed(void **state)
{
        const struct bh_file_entry in_link = {.path = (char *)"dir/f", .mode = 0644, .length = 5};
        const struct bh_file_entry on_directory = {
                .path = (char *)"real", .mode = 0644, .length = 5};
        struct bh_lab_input input = {.payload = PAYLOAD, .files = &in_link, .file_count = 1};
        _cleanup_free_ char *target = bh_format("%s/target", lab.directory);
        _cleanup_free_ char *plant = bh_format("ln -s %s dir; mkdir real", target);
        _cleanup_free_ char *file = bh_format("%s/f", target);
        int image = make_image();

        (void)state;
        assert_int_equal(mkdir(target, 0777), 0);
        run_in(image, true, NULL, RUN("sh", "-c", plant));
        run_in(image, true, &input, RUN("true"));
        assert_int_equal(outcome.prepared, -1);
        assert_string_equal(outcome.error.subject, "workspace");
        assert_int_equal(access(file, F_OK), -1);
        input.files = &on_directory;
        run_in(image, true, &input, RUN("true"));
        assert_int_equal(outcome.prepared, -1);
        assert_string_equal(outcome.error.subject, "workspace");
        run_in(image, true, NULL, RUN("find", "real", "-mindepth", "1"));
        assert_output(""); /* no temporary name is left behind */
        bh_close(image);
}

/* FIELD-CASES D17: ENOSPC at the limit, on every place that can be written to. */
static void check_full(enum bh_scratch_backing backing)
{
        static const char script[] =
                "for d in /workspace /tmp /dev/shm; do "
                "  dd if=/dev/zero of=$d/f bs=64k 2>&1 | grep -c 'No space left'; "
                "  rm -f $d/f; "
                "done; "
                "for d in /tmp /dev/shm; do "
                "  i=0; while true 2>/dev/null > $d/i$i; do i=$((i+1)); done; "
                "  test $i -lt 20000 && echo inodes; "
                "done";
        _cleanup_(bh_plan_cleanup) struct bh_plan *plan = bh_lab_plan(RUN("sh", "-c", script));

        plan->scratch_backing = backing;
        plan->scratch_bytes = (int64_t)8 << 20;
        plan->shm_bytes = (int64_t)2 << 20;
        plan->limits.value[BH_LIMIT_MEMORY_BYTES] = (int64_t)64 << 20;
        bh_lab_run(&lab, plan, NULL, &outcome);
        json_decref(outcome.observed);
        assert_output("1\n1\n1\ninodes\ninodes\n");
        assert_int_equal(outcome.usage.oom_kills, 0);
}

static void test_full_scratch_is_enospc(void **state)
{
        (void)state;
        check_full(BH_SCRATCH_TMPFS);
        check_full(BH_SCRATCH_IMAGE);
}

static void test_full_named_workspace_is_enospc(void **state)
{
        int image = make_image();

        (void)state;
        run_in(image, true, NULL,
               RUN("sh", "-c", "dd if=/dev/zero of=f bs=64k 2>&1 | grep -c 'No space left'"));
        assert_output("1\n");
        bh_close(image);
}

/* FIELD-CASES A12: neither a setuid file nor a device gains anything. */
static void test_setuid_and_devices_are_inert(void **state)
{
        int image = make_image();

        (void)state;
        run_in(image, true, NULL,
               RUN("sh", "-c",
                   "cp /usr/bin/id s; chmod 4755 s; ./s -u; "
                   "mknod d c 1 3 2>/dev/null && echo device; "
                   "grep -E ' /(workspace|tmp|dev/shm) ' /proc/mounts | grep -vc nosuid,nodev"));
        /* gVisor honours the flags that its /proc/mounts does not show. */
        assert_output(bh_lab_tier() == BH_TIER_USERKERNEL ? "1000\n3\n" : "1000\n0\n");
        bh_close(image);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_files_arrive),
                cmocka_unit_test(test_named_workspace_is_kept),
                cmocka_unit_test(test_read_only_workspaces),
                cmocka_unit_test(test_planted_entries_are_replaced),
                cmocka_unit_test(test_planted_directories_are_not_followed),
                cmocka_unit_test(test_full_scratch_is_enospc),
                cmocka_unit_test(test_full_named_workspace_is_enospc),
                cmocka_unit_test(test_setuid_and_devices_are_inert),
        };

        if (bh_test_lacks_root("boundaries"))
                return TEST_SKIPPED;
        return bh_lab_run_tests(&lab, tests);
}
