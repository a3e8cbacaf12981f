/* broker/shim/command.c: what the broker may say, and nothing else. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "broker/shim/command.h"

#define PATHS(...) ((const char *const[]){__VA_ARGS__, NULL})
#define PLAIN_FILE "/etc/passwd"

/* paths: what the descriptors that come along stand for, NULL-terminated, or NULL. */
static int decode(const char *text, const char *const *paths, struct bh_command *ret,
                  struct bh_error *error)
{
        struct bh_frame frame = {.fd_count = 0};
        int result;

        for (; paths && *paths; paths++)
                frame.fds[frame.fd_count++] = open(*paths, O_RDONLY | O_CLOEXEC);
        assert_int_equal(bh_json_parse(text, strlen(text), &frame.message, NULL), 0);
        result = bh_command_decode(&frame, ret, error);
        bh_frame_clear(&frame);
        return result;
}

static void every_command_is_understood(void **state)
{
        struct bh_command command;

        (void)state;
        assert_int_equal(decode("{\"type\": \"watch\", \"on\": true}", NULL, &command, NULL), 0);
        assert_int_equal(command.type, BH_COMMAND_WATCH);
        assert_true(command.on);
        assert_int_equal(decode("{\"type\": \"kill\", \"outcome\": \"retiered\","
                                " \"detail\": \"tier raised\"}",
                                NULL, &command, NULL),
                         0);
        assert_int_equal(command.type, BH_COMMAND_KILL);
        assert_int_equal(command.outcome, BH_OUTCOME_RETIERED);
        assert_string_equal(command.detail, "tier raised");
        assert_int_equal(decode("{\"type\": \"adopt\"}", NULL, &command, NULL), 0);
        assert_int_equal(command.type, BH_COMMAND_ADOPT);
        assert_int_equal(decode("{\"type\": \"taken\"}", NULL, &command, NULL), 0);
        assert_int_equal(command.type, BH_COMMAND_TAKEN);
        assert_int_equal(command.directory_fd, -1);
        assert_int_equal(
                decode("{\"type\": \"go\"}", PATHS("/tmp", PLAIN_FILE, PLAIN_FILE), &command, NULL),
                0);
        assert_int_equal(command.type, BH_COMMAND_GO);
        assert_int_equal(fcntl(command.directory_fd, F_GETFD), FD_CLOEXEC);
        assert_int_equal(fcntl(command.err_fd, F_GETFD), FD_CLOEXEC);
        bh_close(command.directory_fd);
        bh_close(command.out_fd);
        bh_close(command.err_fd);
}

static void everything_else_is_refused(void **state)
{
        static const char *const wrong[] = {
                "{}",
                "{\"type\": \"start\"}",
                "{\"type\": 1}",
                "{\"type\": \"watch\"}",
                "{\"type\": \"watch\", \"on\": 1}",
                "{\"type\": \"watch\", \"on\": true, \"of\": 1}",
                "{\"type\": \"kill\", \"outcome\": \"exited\", \"detail\": \"\"}",
                "{\"type\": \"kill\", \"outcome\": \"killed\"}",
                "{\"type\": \"kill\", \"outcome\": \"killed\", \"detail\": null}",
                "{\"type\": \"adopt\", \"version\": 2}",
                "{\"type\": \"taken\", \"on\": true}",
                "{\"type\": \"go\", \"on\": true}",
        };
        struct bh_command command = {.type = BH_COMMAND_TAKEN};
        struct bh_error error;

        (void)state;
        for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
                assert_int_equal(decode(wrong[i], NULL, &command, &error), -1);
                assert_int_equal(error.code, BH_ERROR_PROTOCOL);
        }
        assert_int_equal(decode("{\"type\": \"taken\"}", PATHS("/tmp"), &command, &error), -1);
        assert_int_equal(error.code, BH_ERROR_PROTOCOL);
        assert_int_equal(decode("{\"type\": \"go\"}", NULL, &command, &error), -1);
        assert_int_equal(error.code, BH_ERROR_PROTOCOL);
        assert_int_equal(decode("{\"type\": \"go\"}", PATHS("/tmp", PLAIN_FILE), &command, &error),
                         -1);
        assert_int_equal(decode("{\"type\": \"go\"}", PATHS(PLAIN_FILE, PLAIN_FILE, PLAIN_FILE),
                                &command, &error),
                         -1);
        assert_int_equal(decode("{\"type\": \"go\"}", PATHS("/tmp", PLAIN_FILE, "/dev/null"),
                                &command, &error),
                         -1);
        assert_non_null(strstr(error.message, "a directory and two files"));
        assert_int_equal(command.type, BH_COMMAND_TAKEN);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(every_command_is_understood),
                cmocka_unit_test(everything_else_is_refused),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
