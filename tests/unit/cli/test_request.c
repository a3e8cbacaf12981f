/* api/cli/request: the body that options make. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/cli/request.h"
#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/json.h"

static const struct bh_option table[] = {BH_REQUEST_OPTIONS, {0}};
static const struct bh_option *const tables[] = {table, NULL};

/* The canonical body of a NULL-terminated argv, or NULL and error. Caller frees. */
static char *body_of(char *const argv[], int stdin_fd, struct bh_error *error)
{
        struct bh_options options = {0};
        _cleanup_json_ json_t *body = NULL;
        int count = 0;

        while (argv[count] != NULL)
                count++;
        assert_int_equal(bh_options_parse(&options, tables, false, argv, count, NULL), count);
        int result = bh_request_from_options(&options, stdin_fd, &body, error);
        bh_options_clear(&options);
        return result < 0 ? NULL : bh_json_canonical(body);
}

#define ARGV(...) ((char *[]){__VA_ARGS__, NULL})

static void test_plain(void **state)
{
        (void)state;
        _cleanup_free_ char *body = body_of(ARGV("--agent", "a", "--", "ls", "-l"), -1, NULL);

        assert_string_equal(body, "{\"agent\":\"a\",\"argv\":[\"ls\",\"-l\"]}");
}

static void test_everything(void **state)
{
        (void)state;
        _cleanup_free_ char *body = body_of(
                ARGV("-a", "a", "-w", "w", "--image", "i", "--cwd", "/workspace/d", "-e", "K=V=W",
                     "-e", "E=", "-t", "1.5", "--cpu", "2", "-m", "64M", "--pids", "9", "--disk",
                     "1M", "--output", "4K", "--min-tier", "vm", "-l", "run=42", "--", "x"),
                -1, NULL);

        assert_string_equal(
                body,
                "{\"agent\":\"a\",\"argv\":[\"x\"],\"cwd\":\"/workspace/d\","
                "\"env\":{\"E\":\"\",\"K\":\"V=W\"},\"image\":\"i\",\"labels\":{\"run\":\"42\"},"
                "\"limits\":{\"cpu_ms\":2000,\"disk_bytes\":1048576,\"memory_bytes\":67108864,"
                "\"output_bytes\":4096,\"pids\":9,\"wall_ms\":1500},\"min_tier\":\"vm\","
                "\"workspace\":\"w\"}");
}

/* A directory with a text, a binary that is executable, and a name with '='. */
static char *make_files(void)
{
        char *directory = bh_strdup("/tmp/bulkhead-cli-test.XXXXXX");
        _cleanup_free_ char *text = NULL, *binary = NULL, *odd = NULL;

        assert_non_null(mkdtemp(directory));
        text = bh_format("%s/t.txt", directory);
        binary = bh_format("%s/b", directory);
        odd = bh_format("%s/k=v", directory);
        assert_int_equal(bh_write_file_atomic(AT_FDCWD, text, "h\xc3\xa9\n", 4, 0640, NULL), 0);
        assert_int_equal(bh_write_file_atomic(AT_FDCWD, binary, "\x7f\0\xff", 3, 0755, NULL), 0);
        assert_int_equal(bh_write_file_atomic(AT_FDCWD, odd, "", 0, 0600, NULL), 0);
        return directory;
}

static void remove_files(const char *directory)
{
        static const char *const names[] = {"t.txt", "b", "k=v"};

        for (size_t i = 0; i < 3; i++) {
                _cleanup_free_ char *path = bh_format("%s/%s", directory, names[i]);
                unlink(path);
        }
        assert_int_equal(rmdir(directory), 0);
}

static void test_files(void **state)
{
        (void)state;
        _cleanup_free_ char *directory = make_files();
        _cleanup_free_ char *text = bh_format("%s/t.txt", directory);
        _cleanup_free_ char *binary = bh_format("%s/b=bin/tool", directory);
        _cleanup_free_ char *odd = bh_format("%s/k=v", directory);
        _cleanup_free_ char *body =
                body_of(ARGV("-a", "a", "-f", text, "-f", binary, "-f", odd, "--", "x"), -1, NULL);

        assert_string_equal(
                body,
                "{\"agent\":\"a\",\"argv\":[\"x\"],\"files\":["
                "{\"data\":\"h\u00e9\\n\",\"encoding\":\"utf-8\",\"mode\":\"0644\",\"path\":\"t."
                "txt\"},"
                "{\"data\":\"fwD/\",\"encoding\":\"base64\",\"mode\":\"0755\",\"path\":\"bin/"
                "tool\"},"
                "{\"data\":\"\",\"encoding\":\"utf-8\",\"mode\":\"0644\",\"path\":\"k=v\"}]}");
        remove_files(directory);
}

static void test_files_that_cannot_be_sent(void **state)
{
        (void)state;
        static const char *const paths[] = {"/nonexistent", "/tmp", "/dev/null"};

        for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
                struct bh_error error = {0};

                assert_null(
                        body_of(ARGV("-a", "a", "-f", (char *)paths[i], "--", "x"), -1, &error));
                assert_int_equal(error.code, BH_ERROR_INVALID);
                assert_non_null(strstr(error.message, paths[i]));
        }
}

static void test_stdin(void **state)
{
        (void)state;
        _cleanup_close_ int text = bh_memfd_sealed("text", "in\n", 3, NULL);
        _cleanup_close_ int bytes = bh_memfd_sealed("bytes", "a\0b", 3, NULL);
        _cleanup_free_ char *with_text = body_of(ARGV("-a", "a", "-i", "--", "x"), text, NULL);
        _cleanup_free_ char *with_bytes = body_of(ARGV("-a", "a", "-i", "--", "x"), bytes, NULL);

        assert_non_null(strstr(with_text, "\"stdin\":{\"data\":\"in\\n\",\"encoding\":\"utf-8\"}"));
        assert_non_null(
                strstr(with_bytes, "\"stdin\":{\"data\":\"YQBi\",\"encoding\":\"base64\"}"));
}

static void test_too_much_is_refused_before_it_is_sent(void **state)
{
        (void)state;
        _cleanup_close_ int zero = open("/dev/zero", O_RDONLY | O_CLOEXEC);
        struct bh_error error = {0};

        assert_null(body_of(ARGV("-a", "a", "-i", "--", "x"), zero, &error));
        assert_int_equal(error.code, BH_ERROR_INVALID);
}

static void test_text_that_is_not_utf8(void **state)
{
        (void)state;
        char **const cases[] = {
                ARGV("-a", "\xff", "--", "x"),
                ARGV("-a", "a", "--", "x", "\xff"),
                ARGV("-a", "a", "-e", "K=\xff", "--", "x"),
                ARGV("-a", "a", "-e", "\xff=V", "--", "x"),
        };

        for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
                struct bh_error error = {0};

                assert_null(body_of(cases[i], -1, &error));
                assert_int_equal(error.code, BH_ERROR_INVALID);
        }
}

int main(void)
{
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_plain),
                cmocka_unit_test(test_everything),
                cmocka_unit_test(test_files),
                cmocka_unit_test(test_files_that_cannot_be_sent),
                cmocka_unit_test(test_stdin),
                cmocka_unit_test(test_too_much_is_refused_before_it_is_sent),
                cmocka_unit_test(test_text_that_is_not_utf8),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
