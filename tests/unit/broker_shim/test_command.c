/* broker/shim/command.c: what the broker may say, and nothing else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "broker/shim/command.h"

static int decode(const char *text, size_t fd_count, struct bh_command *ret, struct bh_error *error)
{
        struct bh_frame frame = {.fd_count = fd_count};
        int result;

        assert_int_equal(bh_json_parse(text, strlen(text), &frame.message, NULL), 0);
        result = bh_command_decode(&frame, ret, error);
        json_decref(frame.message);
        return result;
}

static void every_command_is_understood(void **state)
{
        struct bh_command command;

        (void)state;
        assert_int_equal(decode("{\"type\": \"watch\", \"on\": true}", 0, &command, NULL), 0);
        assert_int_equal(command.type, BH_COMMAND_WATCH);
        assert_true(command.on);
        assert_int_equal(decode("{\"type\": \"kill\", \"outcome\": \"retiered\","
                                " \"detail\": \"tier raised\"}",
                                0, &command, NULL),
                         0);
        assert_int_equal(command.type, BH_COMMAND_KILL);
        assert_int_equal(command.outcome, BH_OUTCOME_RETIERED);
        assert_string_equal(command.detail, "tier raised");
        assert_int_equal(decode("{\"type\": \"adopt\"}", 0, &command, NULL), 0);
        assert_int_equal(command.type, BH_COMMAND_ADOPT);
        assert_int_equal(decode("{\"type\": \"taken\"}", 0, &command, NULL), 0);
        assert_int_equal(command.type, BH_COMMAND_TAKEN);
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
        };
        struct bh_command command = {.type = BH_COMMAND_TAKEN};
        struct bh_error error;

        (void)state;
        for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
                assert_int_equal(decode(wrong[i], 0, &command, &error), -1);
                assert_int_equal(error.code, BH_ERROR_PROTOCOL);
        }
        assert_int_equal(decode("{\"type\": \"taken\"}", 1, &command, &error), -1);
        assert_int_equal(error.code, BH_ERROR_PROTOCOL);
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
