/* drivers/container/runtime.c: finding programs, reading and judging their versions, calling
 * them. */
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
#include <unistd.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "drivers/container/runtime.h"

#define DEBIAN_RUNC "runc version 1.1.5+ds1\ncommit: 1.1.5+ds1-1+deb12u1\nspec: 1.0.2-dev\n"

static char directory[] = "/tmp/bulkhead-runtime-XXXXXX";

static char *make_script(const char *name, const char *text)
{
        char *path = bh_format("%s/%s", directory, name);
        int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);

        assert_true(fd >= 0);
        assert_int_equal(bh_write_full(fd, text, strlen(text)), 0);
        bh_close(fd);
        return path;
}

static void test_versions(void **state)
{
        static const struct {
                const char *text, *version;
        } cases[] = {
                {DEBIAN_RUNC, "1.1.5+ds1-1+deb12u1"},
                {"runc version 1.1.12\ncommit: v1.1.12-0-g51d5e946\nspec: 1.0.2\n", "1.1.12"},
                {"crun version 1.8.1\ncommit: f8a096be060b22ccd3d5f3ebe44108517fbf6c30\n", "1.8.1"},
                {"runsc version release-20240212.0\nspec: 1.1.0-rc.1\n", "release-20240212.0"},
                {"", NULL},
                {"runc version \n", NULL},
                {"version", NULL},
        };

        (void)state;
        for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
                _cleanup_free_ char *version = bh_runtime_version(cases[i].text);

                if (cases[i].version)
                        assert_string_equal(version, cases[i].version);
                else
                        assert_null(version);
        }
}

static void test_judgement(void **state)
{
        static const struct {
                const char *program, *text;
                bool safe;
        } cases[] = {
                {"runc", DEBIAN_RUNC, true},
                {"runc", "runc version 1.1.5+ds1\ncommit: 1.1.5+ds1-1+deb12u9\n", true},
                {"runc", "runc version 1.1.5+ds1\ncommit: 1.1.5+ds1-1\n", false},
                {"runc", "runc version 1.1.5\ncommit: v1.1.5-0-gf19387a6\n", false},
                {"runc", "runc version 1.0.0~rc93+ds1\ncommit: 1.0.0~rc93+ds1-5+deb11u3\n", true},
                {"runc", "runc version 1.0.0~rc93+ds1\ncommit: 1.0.0~rc93+ds1-5+deb11u2\n", false},
                {"runc", "runc version 1.1.11\n", false},
                {"runc", "runc version 1.1.12\n", true},
                {"runc", "runc version 1.2.0-rc.1\n", true},
                {"runc", "no words", false},
                {"crun", "crun version 1.8.1\ncommit: f8a096be\n", true},
                {"crun", "crun version 1.4.3\n", false},
                {"crun", "crun version x\n", false},
                {"runsc", "runsc version 0.0~20221219.0\nspec: 1.0.2-dev\n", true},
        };

        (void)state;
        for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
                struct bh_error error = {.code = BH_ERROR_NONE};
                int result = bh_runtime_judge(cases[i].program, cases[i].text, &error);

                if ((result == 0) != cases[i].safe)
                        fail_msg("%s: %s", cases[i].text, error.message);
                if (result < 0)
                        assert_int_equal(error.code, BH_ERROR_UNAVAILABLE);
        }
}

static void test_reasons_are_named(void **state)
{
        struct bh_error error;

        (void)state;
        assert_int_equal(bh_runtime_judge("runc", "runc version 1.1.5\n", &error), -1);
        assert_non_null(strstr(error.message, "CVE-2024-21626"));
        assert_non_null(strstr(error.message, "1.1.5"));
}

static void test_flaws(void **state)
{
        (void)state;
        assert_non_null(bh_runtime_flaw("runsc", "0.0~20221219.0"));
        assert_non_null(bh_runtime_flaw("runsc", "release-20220101.0"));
        assert_null(bh_runtime_flaw("runsc", "release-20240212.0"));
        assert_null(bh_runtime_flaw("runsc", "1.0"));
        assert_null(bh_runtime_flaw("crun", "1.8.1"));
}

static void test_finding(void **state)
{
        const char *const directories[] = {"/no/such", directory, NULL};
        _cleanup_free_ char *made = make_script("tool", "#!/bin/sh\n"), *found = NULL;

        (void)state;
        found = bh_runtime_find("tool", directories);
        assert_string_equal(found, made);
        assert_null(bh_runtime_find("other", directories));
        assert_int_equal(chmod(made, 0644), 0);
        assert_null(bh_runtime_find("tool", directories));
}

static void test_asking(void **state)
{
        _cleanup_free_ char *answers = make_script("answers", "#!/bin/sh\necho \"$0 $1\"\n");
        _cleanup_free_ char *silent = make_script("silent", "#!/bin/sh\nexec sleep 60\n");
        _cleanup_free_ char *floods = make_script("floods", "#!/bin/sh\nexec yes\n");
        _cleanup_free_ char *text = NULL, *wanted = bh_format("%s --version\n", answers);
        int64_t begin = bh_monotonic_us();
        struct bh_error error;

        (void)state;
        assert_int_equal(bh_runtime_ask_version(answers, &text, &error), 0);
        assert_string_equal(text, wanted);
        assert_int_equal(bh_runtime_ask_version(silent, &text, &error), -1);
        assert_non_null(strstr(error.message, "does not answer"));
        free(text);
        text = NULL;
        assert_int_equal(bh_runtime_ask_version(floods, &text, &error), 0);
        assert_true(strlen(text) < 4096);
        assert_true(bh_monotonic_us() - begin < 5000000);
        assert_int_equal(bh_runtime_ask_version("/no/such/program", &silent, &error), -1);
}

static void test_words(void **state)
{
        const char *words[BH_RUNTIME_WORDS_MAX];

        (void)state;
        for (const struct bh_runtime *runtime = bh_runtimes; runtime->name; runtime++) {
                size_t count = 0;

                assert_ptr_equal(bh_runtime_by_name(runtime->name), runtime);
                bh_runtime_words(runtime, "/bin/x", "ex_1", words);
                while (words[count])
                        count++;
                assert_true(count < BH_RUNTIME_WORDS_MAX);
                assert_string_equal(words[0], "/bin/x");
                assert_string_equal(words[count - 1], "ex_1");
                if (runtime->platform)
                        assert_string_equal(words[4], runtime->platform);
        }
        assert_null(bh_runtime_by_name("docker"));
}

static int make_directory(void **state)
{
        (void)state;
        return mkdtemp(directory) ? 0 : -1;
}

static int remove_directory(void **state)
{
        static const char *const names[] = {"tool", "answers", "silent", "floods"};

        (void)state;
        for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
                _cleanup_free_ char *path = bh_format("%s/%s", directory, names[i]);

                unlink(path);
        }
        return rmdir(directory);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_versions),
                cmocka_unit_test(test_judgement),
                cmocka_unit_test(test_reasons_are_named),
                cmocka_unit_test(test_flaws),
                cmocka_unit_test(test_finding),
                cmocka_unit_test(test_asking),
                cmocka_unit_test(test_words),
        };

        return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
