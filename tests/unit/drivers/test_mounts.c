/* drivers/subprocess: an agent's own mounts on the running kernel: what is seen at their targets,
 * who owns what is written there, and what is refused. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "drivers/kernel/image.h"
#include "drivers/kernel/mount_source.h"
#include "drivers/kernel/mounts.h"
#include "drivers/subprocess/boundary.h"
#include "lab.h"
#include "needs_root.h"
#include "policy/controls.h"

#define OWNER 4711
#define SIZE  ((int64_t)4 << 20)

static struct bh_lab lab;
static struct bh_lab_outcome outcome;
static json_t *observed;
static char *base; /* an ext4 file system of our own, which can map owners */

static char *below(const char *name)
{
        return bh_format("%s/%s", base, name);
}

static void make_directory(const char *name, uid_t owner, mode_t mode)
{
        _cleanup_free_ char *path = below(name);

        assert_int_equal(mkdir(path, mode), 0);
        assert_int_equal(chmod(path, mode), 0);
        assert_int_equal(chown(path, owner, owner), 0);
}

static void make_file(const char *name, uid_t owner, mode_t mode, const char *text)
{
        _cleanup_free_ char *path = below(name);
        _cleanup_close_ int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);

        assert_true(fd >= 0);
        assert_int_equal(bh_write_full(fd, text, strlen(text)), 0);
        assert_int_equal(fchown(fd, owner, owner), 0);
        assert_int_equal(fchmod(fd, mode), 0);
}

static int open_source(const char *name)
{
        _cleanup_free_ char *path = below(name);
        int fd = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);

        assert_true(fd >= 0);
        return fd;
}

struct wanted {
        const char *source, *target;
        bool writable;
};

/* Runs a script in a plan with these mounts (ended by a NULL source); fault may be NULL. */
static void run_with(const struct wanted *wanted, const char *fault, const char *script)
{
        const char *const argv[] = {"sh", "-c", script, NULL};
        _cleanup_(bh_plan_cleanup) struct bh_plan *plan = bh_lab_plan(argv);
        struct bh_lab_input input = {.fault = fault};
        int fds[BH_MOUNT_RULES_MAX];
        size_t count = 0;

        plan->mounts.items = bh_alloc_array(BH_MOUNT_RULES_MAX, sizeof(*plan->mounts.items));
        for (; wanted[count].source; count++) {
                fds[count] = open_source(wanted[count].source);
                plan->mounts.items[count] = (struct bh_mount_rule){
                        .source = below(wanted[count].source),
                        .target = bh_strdup(wanted[count].target),
                        .writable = wanted[count].writable,
                        .justification = wanted[count].writable ? bh_strdup("a test") : NULL,
                };
        }
        plan->mounts.count = count;
        for (size_t i = 0; i < plan->control_count; i++)
                free(plan->controls[i]);
        free(plan->controls);
        plan->control_count = 0;
        bh_plan_set_controls(plan);
        input.mount_fds = fds;
        bh_lab_run(&lab, plan, &input, &outcome);
        json_decref(observed);
        observed = bh_steal_ptr(&outcome.observed);
        while (count > 0)
                bh_close(fds[--count]);
}

static void assert_output(const char *text)
{
        if (outcome.prepared < 0)
                fail_msg("[%s] %s", outcome.error.subject, outcome.error.message);
        assert_string_equal(outcome.output, text);
}

static void assert_refused(const char *text)
{
        assert_int_equal(outcome.prepared, -1);
        assert_int_equal(outcome.error.code, BH_ERROR_CONTROL);
        assert_string_equal(outcome.error.subject, "mounts");
        if (!strstr(outcome.error.message, text))
                fail_msg("%s is not in: %s", text, outcome.error.message);
}

static void test_read_only_is_read_only(void **state)
{
        const struct wanted wanted[] = {{"public", "/data", false},
                                        {"public/file", "/srv/deep/er/file", false},
                                        {"public", "/var/lib/data", false},
                                        {"public", "/mnt", false},
                                        {NULL, NULL, false}};

        (void)state;
        run_with(wanted, NULL,
                 "cat /data/file /srv/deep/er/file /var/lib/data/file /mnt/file;"
                 "for f in /data/new /data/file /data/sub/new /srv/deep/er/file /srv/new /new;"
                 "do (echo x > $f) 2>/dev/null && echo wrote $f; done;"
                 "cat /data/private 2>/dev/null && echo read;"
                 "ls -d /var/tmp /var/empty /proc/self /dev/null /usr/bin /etc/passwd");
        assert_output("seenseenseenseen/dev/null\n/etc/passwd\n/proc/self\n/usr/bin\n/var/empty\n"
                      "/var/tmp\n");
        assert_true(json_is_true(json_object_get(json_object_get(observed, "mounts"), "holds")));
        assert_int_equal(
                json_array_size(json_object_get(json_object_get(observed, "mounts"), "observed")),
                4);
}

/* On disk all belongs to the source's owner; inside it is the workload's. */
static void test_writable_is_its_owners(void **state)
{
        const struct wanted wanted[] = {
                {"cache", "/cache", true}, {"cache-file", "/list", true}, {NULL, NULL, false}};
        _cleanup_free_ char *made = below("cache/made"), *directory = below("cache/dir");
        struct stat status;

        (void)state;
        run_with(wanted, NULL,
                 "cd /cache && echo x > made && mkdir dir && mv made dir/ && mv dir/made . &&"
                 "stat -c '%u %g' made dir . && echo more >> /list && cat /list;"
                 "(echo x > roots) 2>/dev/null && echo wrote root\\'s; cat roots;"
                 "chown 0:0 made 2>/dev/null && echo gave away;"
                 "mkfifo pipe 2>/dev/null && echo made a fifo;"
                 "mknod null c 1 3 2>/dev/null && echo made a device;"
                 "python3 -c 'import socket; socket.socket(1).bind(\"s\")' 2>/dev/null &&"
                 "echo made a socket; true");
        assert_output("1000 1000\n1000 1000\n1000 1000\nonemore\nroot's");
        assert_int_equal(stat(made, &status), 0);
        assert_int_equal(status.st_uid, OWNER);
        assert_int_equal(status.st_gid, OWNER);
        assert_int_equal(stat(directory, &status), 0);
        assert_int_equal(status.st_uid, OWNER);
}

static void test_setuid_gains_nothing(void **state)
{
        const struct wanted wanted[] = {{"cache", "/cache", true}, {NULL, NULL, false}};
        _cleanup_free_ char *made = below("cache/s");
        struct stat status;

        (void)state;
        run_with(wanted, NULL,
                 "cp /bin/sh /cache/s; chmod 4755 /cache/s; /cache/s -p -c 'id -u';"
                 "grep ' /cache ' /proc/self/mountinfo | grep -c nosuid,nodev");
        assert_output("1000\n1\n");
        assert_int_equal(stat(made, &status), 0);
        assert_int_equal(status.st_uid, OWNER);
}

/* What is mounted below a source comes along, with its options; what the host mounts later does
 * not. */
static void test_mounts_below_come_along(void **state)
{
        const struct wanted wanted[] = {{"public", "/data", false}, {NULL, NULL, false}};
        _cleanup_free_ char *sub = below("public/sub");

        (void)state;
        assert_int_equal(mount("below", sub, "tmpfs", 0, NULL), 0);
        run_with(wanted, NULL,
                 "grep -c ' /data/sub ro,nosuid,nodev' /proc/self/mountinfo;"
                 "(echo x > /data/sub/new) 2>/dev/null || echo refused");
        assert_int_equal(umount2(sub, MNT_DETACH), 0);
        assert_output("1\nrefused\n");
}

static void test_what_is_refused(void **state)
{
        const struct {
                const char *source, *target;
                bool writable;
                const char *text;
        } cases[] = {
                {"roots", "/data", true, "belongs to root"},
                {"group-of-root", "/data", true, "belongs to root"},
                {"fifo", "/data", false, "neither a directory nor a regular file"},
                {"device", "/data", false, "neither a directory nor a regular file"},
                {"link", "/data", false, "neither a directory nor a regular file"},
                {"public/file", "/srv", false, "make a place at /srv"},
                {"public", "/var/tmp/x", false, "make the way to /var/tmp/x"},
        };

        (void)state;
        for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
                const struct wanted wanted[] = {
                        {cases[i].source, cases[i].target, cases[i].writable}, {NULL, NULL, false}};

                run_with(wanted, NULL, "true");
                assert_refused(cases[i].text);
        }
}

static void test_owners_that_cannot_be_mapped(void **state)
{
        const struct wanted wanted[] = {{"foreign", "/data", true}, {NULL, NULL, false}};
        _cleanup_free_ char *path = below("foreign");

        (void)state;
        make_directory("foreign", OWNER, 0755);
        /* A kernel's tree has no owners to map. */
        assert_int_equal(mount("foreign", path, "mqueue", 0, NULL), 0);
        assert_int_equal(chown(path, OWNER, OWNER), 0);
        run_with(wanted, NULL, "true");
        assert_int_equal(umount2(path, MNT_DETACH), 0);
        assert_refused("cannot map the owner");
}

static void test_as_many_as_a_plan_may_have(void **state)
{
        struct wanted wanted[BH_MOUNT_RULES_MAX + 1] = {{NULL, NULL, false}};
        char targets[BH_MOUNT_RULES_MAX][16];

        (void)state;
        for (size_t i = 0; i < BH_MOUNT_RULES_MAX; i++) {
                snprintf(targets[i], sizeof(targets[i]), "/many/%zu", i);
                wanted[i] = (struct wanted){i % 8 ? "public" : "cache", targets[i], i % 8 == 0};
        }
        run_with(wanted, NULL, "ls -d /many/*/ | wc -l");
        assert_output("64\n");
}

static void test_nothing_is_left(void **state)
{
        const struct wanted wanted[] = {
                {"public", "/data", false}, {"cache", "/cache", true}, {NULL, NULL, false}};
        struct bh_lab_count before, after;

        (void)state;
        bh_lab_count(&lab, &before);
        run_with(wanted, NULL, "true");
        assert_output("");
        run_with(wanted, "mounts", "true");
        assert_refused("");
        bh_lab_count(&lab, &after);
        assert_memory_equal(&before, &after, sizeof(before));
}

/* The template is one for all: an execution's places are in its own root only. */
static void test_the_template_is_not_touched(void **state)
{
        const struct wanted wanted[] = {{"public", "/data", false}, {NULL, NULL, false}};

        (void)state;
        run_with(wanted, NULL, "true");
        assert_output("");
        bh_lab_command(&lab, (const char *const[]){"ls", "/data", NULL}, &outcome);
        assert_int_equal(outcome.end.status, 2);
}

static void test_opening_follows_no_link(void **state)
{
        _cleanup_free_ char *source = below("public/sub"), *link = below("link");
        _cleanup_free_ char *through = below("way/sub"), *missing = below("missing");
        _cleanup_free_ char *way = below("way");
        struct bh_error error;
        int fd = bh_mount_source_open(base, source, &error);

        (void)state;
        assert_ok(fd, error);
        bh_close(fd);
        fd = bh_mount_source_open(base, base, &error);
        assert_ok(fd, error);
        bh_close(fd);
        assert_int_equal(bh_mount_source_open(base, link, &error), -1);
        assert_non_null(strstr(error.message, "reached through a symbolic link"));
        assert_int_equal(bh_mount_source_open(base, through, &error), -1);
        assert_non_null(strstr(error.message, "reached through a symbolic link"));
        assert_int_equal(bh_mount_source_open(way, through, &error), -1);
        assert_non_null(strstr(error.message, "reached through a symbolic link"));
        assert_int_equal(bh_mount_source_open(base, missing, &error), -1);
        assert_non_null(strstr(error.message, "cannot be opened"));
}

static void make_sources(void)
{
        _cleanup_free_ char *fifo = below("fifo"), *device = below("device"), *link = below("link");
        _cleanup_free_ char *group = below("group-of-root"), *way = below("way");

        make_directory("public", OWNER, 0755);
        make_directory("public/sub", OWNER, 0777);
        make_file("public/file", OWNER, 0666, "seen");
        make_file("public/private", OWNER, 0600, "not seen");
        make_directory("cache", OWNER, 0700);
        make_file("cache/roots", 0, 0644, "root's");
        make_file("cache-file", OWNER, 0600, "one");
        make_directory("roots", 0, 0777);
        make_directory("group-of-root", OWNER, 0777);
        assert_int_equal(chown(group, OWNER, 0), 0);
        assert_int_equal(mkfifo(fifo, 0666), 0);
        assert_int_equal(mknod(device, S_IFCHR | 0666, makedev(1, 3)), 0);
        assert_int_equal(symlink("/etc", link), 0);
        assert_int_equal(symlink("public", way), 0);
}

static int open_lab(void **state)
{
        struct bh_error error;
        _cleanup_close_ int directory = -1, image = -1, mount = -1;

        (void)state;
        bh_lab_open(&lab);
        directory = bh_make_directory(lab.host.state_dir, 0700, &error);
        image = bh_image_make_unnamed(directory, SIZE, 0, 0, &error);
        assert_ok(image, error);
        mount = bh_image_mount(image, false, &error);
        assert_ok(mount, error);
        base = bh_format("%s/sources", lab.directory);
        bh_close(bh_make_directory(base, 0755, &error));
        assert_int_equal(bh_mount_attach(mount, AT_FDCWD, base), 0);
        assert_int_equal(chmod(base, 0755), 0);
        umask(0);
        make_sources();
        return 0;
}

static int close_lab(void **state)
{
        (void)state;
        json_decref(observed);
        umount2(base, MNT_DETACH);
        free(base);
        bh_lab_close(&lab);
        return 0;
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_read_only_is_read_only),
                cmocka_unit_test(test_writable_is_its_owners),
                cmocka_unit_test(test_setuid_gains_nothing),
                cmocka_unit_test(test_mounts_below_come_along),
                cmocka_unit_test(test_what_is_refused),
                cmocka_unit_test(test_owners_that_cannot_be_mapped),
                cmocka_unit_test(test_as_many_as_a_plan_may_have),
                cmocka_unit_test(test_nothing_is_left),
                cmocka_unit_test(test_the_template_is_not_touched),
                cmocka_unit_test(test_opening_follows_no_link),
        };

        if (bh_test_lacks_root("the subprocess driver"))
                return TEST_SKIPPED;
        return cmocka_run_group_tests(tests, open_lab, close_lab);
}
