/* The container driver with a runtime that is not there, hangs, talks garbage or is killed: the
 * step is named, nothing is left, and the next execution works. Other programs are put in the
 * runtime's place in a mount namespace of this test's own. */
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
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "drivers/container/boundary.h"
#include "lab.h"
#include "needs_root.h"

#define RUN(...) ((const char *const[]){__VA_ARGS__, NULL})

static struct bh_lab lab;
static struct bh_lab_outcome outcome;
static char *program; /* the runtime's path */

static void replace(const char *script)
{
        _cleanup_free_ char *path = bh_format("%s/other", lab.directory);
        _cleanup_close_ int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);

        assert_true(fd >= 0);
        assert_int_equal(bh_write_full(fd, script, strlen(script)), 0);
        fd = bh_close(fd);
        assert_int_equal(mount(path, program, NULL, MS_BIND, NULL), 0);
}

static void put_back(void)
{
        assert_int_equal(umount2(program, MNT_DETACH), 0);
}

static void assert_works(void)
{
        bh_lab_command(&lab, RUN("true"), &outcome);
        if (outcome.prepared < 0)
                fail_msg("[%s] %s", outcome.error.subject, outcome.error.message);
        assert_int_equal(outcome.end.status, 0);
}

/* Prepares with what stands in the runtime's place; it must fail with this in its message. */
static void assert_fails(const char *message)
{
        struct bh_lab_count before, after;

        bh_lab_count(&lab, &before);
        bh_lab_command(&lab, RUN("true"), &outcome);
        assert_int_equal(outcome.prepared, -1);
        if (!strstr(outcome.error.message, message))
                fail_msg("no '%s' in: %s", message, outcome.error.message);
        bh_lab_count(&lab, &after);
        assert_memory_equal(&before, &after, sizeof(before));
}

static void test_one_that_fails(void **state)
{
        (void)state;
        assert_works();
        replace("#!/bin/sh\necho 'the disk is full' >&2\nexit 1\n");
        assert_fails("the disk is full");
        put_back();
        assert_works();
}

static void test_garbage(void **state)
{
        (void)state;
        replace("#!/bin/sh\nhead -c 100000 /dev/urandom >&2\nhead -c 100 /dev/urandom >&3\n");
        assert_fails("run: ");
        for (const char *c = outcome.error.message; *c; c++)
                assert_true(*c >= ' ' && *c <= '~');
        put_back();
        assert_works();
}

static void test_one_that_kills_itself(void **state)
{
        (void)state;
        replace("#!/bin/sh\nkill -9 $$\nexit 0\n");
        assert_fails("it ended while it built the container");
        put_back();
}

static void test_no_program_at_all(void **state)
{
        (void)state;
        replace("\x7f"
                "ELF, but not really");
        assert_fails("execute the runtime");
        put_back();
        assert_works();
}

static void test_one_that_hangs(void **state)
{
        int64_t begin = bh_monotonic_us();

        (void)state;
        replace("#!/bin/sh\nsleep 600 & sleep 600\n");
        assert_fails("nothing within 10 s");
        assert_true(bh_monotonic_us() - begin < 15000000);
        put_back();
        assert_works();
}

static void probe(struct bh_tier_host *ret)
{
        struct bh_error error;

        assert_ok(lab.driver->probe(&lab.host, bh_lab_tier(), ret, &error), error);
}

static bool mentions(const struct bh_tier_host *tier, const char *text)
{
        for (size_t i = 0; i < tier->missing_count; i++) {
                if (strstr(tier->missing[i].what, text))
                        return true;
        }
        return false;
}

/* Its tier goes at once, unless another runtime serves it, and is back when it is back. */
static void test_disappearing(void **state)
{
        const char *name = strrchr(program, '/') + 1;
        _cleanup_free_ char *text = bh_format("%s is not installed", name);
        struct bh_tier_host tier;

        (void)state;
        probe(&tier);
        assert_true(tier.available);
        bh_tier_host_clear(&tier);
        assert_int_equal(mount("/dev/null", program, NULL, MS_BIND, NULL), 0);
        assert_fails("is not installed");
        probe(&tier);
        if (tier.available)
                assert_null(strstr(tier.technology, name));
        else
                assert_true(mentions(&tier, text));
        bh_tier_host_clear(&tier);
        put_back();
        probe(&tier);
        assert_true(tier.available);
        bh_tier_host_clear(&tier);
        assert_works();
}

/* Found once, a runtime is not tried again while its file stays the same. */
static void test_findings_are_kept(void **state)
{
        struct bh_tier_host tier;
        int64_t begin;

        (void)state;
        probe(&tier);
        bh_tier_host_clear(&tier);
        begin = bh_monotonic_us();
        for (int i = 0; i < 20; i++) {
                probe(&tier);
                assert_true(tier.available);
                bh_tier_host_clear(&tier);
        }
        assert_true(bh_monotonic_us() - begin < 500000);
        bh_lab_doubt(&lab);
        replace("#!/bin/sh\necho 'runc version 1.1.5'\n");
        probe(&tier);
        if (!tier.available && strstr(program, "runc"))
                assert_true(mentions(&tier, "unsafe"));
        bh_tier_host_clear(&tier);
        put_back();
}

static int open_lab(void **state)
{
        const struct bh_runtime *runtime = bh_runtime_by_name(getenv("BULKHEAD_LAB"));

        (void)state;
        bh_lab_open(&lab);
        program = bh_runtime_find(runtime->program, NULL);
        return program ? 0 : -1;
}

static int close_lab(void **state)
{
        (void)state;
        free(program);
        bh_lab_close(&lab);
        return 0;
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_one_that_fails),
                cmocka_unit_test(test_garbage),
                cmocka_unit_test(test_one_that_kills_itself),
                cmocka_unit_test(test_no_program_at_all),
                cmocka_unit_test(test_one_that_hangs),
                cmocka_unit_test(test_disappearing),
                cmocka_unit_test(test_findings_are_kept),
        };

        if (bh_test_lacks_root("runtimes that misbehave"))
                return TEST_SKIPPED;
        return cmocka_run_group_tests(tests, open_lab, close_lab);
}
