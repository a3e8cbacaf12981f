/* broker/shim/result.c: every member of a result, and the file that outlives the shim. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "broker/shim/result.h"
#include "broker/shim_protocol.h"

static const struct bh_capture out = {.bytes = 100, .kept = 60};
static const struct bh_capture err = {.bytes = 7, .kept = 7};

static struct bh_result result_of(enum bh_outcome outcome)
{
        return (struct bh_result){
                .verdict = {.outcome = outcome, .exit_code = 7, .signal = SIGSEGV},
                .usage = {.cpu_us = 8499, .memory_peak_bytes = 4194304, .oom_kills = 1},
                .provision_us = 4500,
                .run_us = 12000,
                .teardown_us = 499,
                .started_ms = 1764500000000,
                .ended_ms = 1764500000012,
                .out = &out,
                .err = &err};
}

static void assert_encoded(const struct bh_result *result, const char *expected)
{
        _cleanup_json_ json_t *encoded = bh_result_encode(result);
        _cleanup_free_ char *text = bh_json_text(encoded);

        assert_string_equal(text, expected);
}

static void an_exit_is_told_whole(void **state)
{
        struct bh_result result = result_of(BH_OUTCOME_EXITED);

        (void)state;
        assert_encoded(&result,
                       "{\"type\":\"result\",\"outcome\":\"exited\",\"exit_code\":7,"
                       "\"signal\":null,\"detail\":\"\",\"usage\":{\"wall_ms\":12,\"cpu_ms\":8,"
                       "\"memory_peak_bytes\":4194304,\"oom_kills\":1},\"timing\":"
                       "{\"provision_ms\":5,\"run_ms\":12,\"teardown_ms\":0},"
                       "\"started_ms\":1764500000000,\"ended_ms\":1764500000012,"
                       "\"stdout\":{\"bytes\":100,\"dropped_bytes\":40},"
                       "\"stderr\":{\"bytes\":7,\"dropped_bytes\":0},\"evidence\":null}");
}

static void only_a_signal_has_a_signal(void **state)
{
        struct bh_result result = result_of(BH_OUTCOME_SIGNALED);
        _cleanup_json_ json_t *signaled = bh_result_encode(&result);
        _cleanup_json_ json_t *timeout = NULL;

        (void)state;
        assert_string_equal(json_string_value(json_object_get(signaled, "signal")), "SIGSEGV");
        assert_true(json_is_null(json_object_get(signaled, "exit_code")));
        result = result_of(BH_OUTCOME_TIMEOUT);
        timeout = bh_result_encode(&result);
        assert_true(json_is_null(json_object_get(timeout, "signal")));
        assert_true(json_is_null(json_object_get(timeout, "exit_code")));
}

static void what_never_ran_has_no_start(void **state)
{
        struct bh_result result = result_of(BH_OUTCOME_BOUNDARY_FAILED);
        _cleanup_json_ json_t *encoded = NULL;

        (void)state;
        result.started_ms = 0;
        encoded = bh_result_encode(&result);
        assert_true(json_is_null(json_object_get(encoded, "started_ms")));
}

static void evidence_is_kept_until_it_is_too_large(void **state)
{
        struct bh_result result = result_of(BH_OUTCOME_EXITED);
        _cleanup_json_ json_t *evidence = json_pack("{s:{s:i}}", "seccomp", "observed", 2);
        _cleanup_json_ json_t *small = NULL, *large = NULL;
        char *text = malloc(BH_SHIM_RESULT_MAX);

        (void)state;
        result.evidence = evidence;
        small = bh_result_encode(&result);
        assert_true(json_equal(json_object_get(small, "evidence"), evidence));
        memset(text, 'x', BH_SHIM_RESULT_MAX - 1);
        text[BH_SHIM_RESULT_MAX - 1] = '\0';
        json_object_set_new(evidence, "landlock", json_string(text));
        free(text);
        large = bh_result_encode(&result);
        assert_true(json_is_null(json_object_get(large, "evidence")));
        assert_non_null(strstr(json_string_value(json_object_get(large, "detail")), "evidence"));
        assert_string_equal(json_string_value(json_object_get(large, "outcome")), "exited");
}

static void lost_output_is_told(void **state)
{
        struct bh_capture full = {.bytes = 10, .kept = 4, .write_errno = ENOSPC};
        struct bh_result result = result_of(BH_OUTCOME_EXITED);

        (void)state;
        result.out = &full;
        bh_result_note_losses(&result);
        assert_string_equal(result.verdict.detail,
                            "stdout was lost after 4 bytes: No space left on device");
}

static void it_is_stored_whole_and_private(void **state)
{
        char path[] = "/tmp/shim_result.XXXXXX";
        struct bh_result result = result_of(BH_OUTCOME_EXITED);
        _cleanup_json_ json_t *encoded = bh_result_encode(&result);
        _cleanup_json_ json_t *stored = NULL;
        _cleanup_close_ int directory = -1;
        struct bh_error error;
        struct stat file;
        char *text;
        size_t size;

        (void)state;
        assert_non_null(mkdtemp(path));
        directory = open(path, O_DIRECTORY | O_CLOEXEC);
        assert_int_equal(bh_result_store(directory, encoded, &error), 0);
        assert_int_equal(bh_read_file(directory, BH_SHIM_RESULT_FILE, BH_SHIM_RESULT_MAX, &text,
                                      &size, NULL),
                         0);
        assert_int_equal(bh_json_parse(text, size, &stored, NULL), 0);
        assert_true(json_equal(stored, encoded));
        assert_int_equal(fstatat(directory, BH_SHIM_RESULT_FILE, &file, 0), 0);
        assert_int_equal(file.st_mode, S_IFREG | 0600);
        free(text);
        assert_int_equal(unlinkat(directory, BH_SHIM_RESULT_FILE, 0), 0);
        assert_int_equal(rmdir(path), 0);
        assert_int_equal(bh_result_store(directory, encoded, &error), -1);
        assert_int_equal(error.errnum, ENOENT);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(an_exit_is_told_whole),
                cmocka_unit_test(only_a_signal_has_a_signal),
                cmocka_unit_test(what_never_ran_has_no_start),
                cmocka_unit_test(evidence_is_kept_until_it_is_too_large),
                cmocka_unit_test(lost_output_is_told),
                cmocka_unit_test(it_is_stored_whole_and_private),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
