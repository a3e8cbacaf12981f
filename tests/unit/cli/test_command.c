/* api/cli/command: words and options in any order, and that every command explains itself. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/cli/command.h"

#define ARGV(...) ((char *[]){"bulkhead", __VA_ARGS__, NULL})

static const struct bh_command *const groups[] = {
        bh_commands_run,        bh_commands_decide, bh_commands_agents, bh_commands_executions,
        bh_commands_workspaces, bh_commands_policy, bh_commands_audit,  bh_commands_doctor,
};

static int parse(char **argv, const struct bh_command **ret, struct bh_options *options,
                 struct bh_error *error)
{
        int count = 0;

        while (argv[count] != NULL)
                count++;
        return bh_command_parse(count, argv, ret, options, error);
}

static void test_found(void **state)
{
        (void)state;
        const struct {
                char **argv;
                const char *first, *second;
                size_t arguments;
        } cases[] = {
                {ARGV("doctor"), "doctor", NULL, 0},
                {ARGV("--json", "doctor"), "doctor", NULL, 0},
                {ARGV("doctor", "--json"), "doctor", NULL, 0},
                {ARGV("--url", "unix:/x", "agents", "--json", "list", "--limit", "3"), "agents",
                 "list", 0},
                {ARGV("agents", "show", "a1"), "agents", "show", 1},
                {ARGV("audit"), "audit", NULL, 0},
                {ARGV("audit", "-f"), "audit", NULL, 0},
                {ARGV("audit", "--json", "-f"), "audit", NULL, 0},
                {ARGV("audit", "verify", "--dir", "/x"), "audit", "verify", 0},
                {ARGV("run", "--agent", "a", "--", "ls", "--json"), "run", NULL, 2},
                {ARGV("run", "--agent", "a", "ls", "-l", "--json"), "run", NULL, 3},
                {ARGV("agents", "rm", "--force", "a", "b"), "agents", "rm", 2},
                {ARGV("agents", "rm", "--", "-a"), "agents", "rm", 1},
                {ARGV("executions", "show", "--help"), "executions", "show", 0},
        };

        for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
                const struct bh_command *command = NULL;
                struct bh_options options = {0};
                struct bh_error error = {0};

                assert_int_equal(parse(cases[i].argv, &command, &options, &error), 0);
                assert_non_null(command);
                assert_string_equal(command->words[0], cases[i].first);
                if (cases[i].second == NULL)
                        assert_null(command->words[1]);
                else
                        assert_string_equal(command->words[1], cases[i].second);
                assert_int_equal(options.argument_count, cases[i].arguments);
                bh_options_clear(&options);
        }
}

static void test_what_follows_a_command_line_is_its_own(void **state)
{
        (void)state;
        const struct bh_command *command = NULL;
        struct bh_options options = {0};

        assert_int_equal(
                parse(ARGV("run", "-a", "a", "ls", "--json", "--", "x"), &command, &options, NULL),
                0);
        assert_false(bh_options_flag(&options, "json"));
        assert_string_equal(options.arguments[2], "--");
        bh_options_clear(&options);
}

static void test_refused(void **state)
{
        (void)state;
        char **const cases[] = {
                ARGV("nonsense"),
                ARGV("agents"),
                ARGV("agents", "nonsense"),
                ARGV("--nonsense"),
                ARGV("run", "--agent", "a"),
                ARGV("run", "--", "ls"),
                ARGV("agents", "show"),
                ARGV("agents", "show", "a", "b"),
                ARGV("doctor", "x"),
                ARGV("audit", "nonsense"),
                ARGV("workspaces", "create", "w"),
                ARGV("doctor", "--limit", "3"),
                ARGV("workspaces", "get"),
                ARGV("posture"),
        };

        for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
                const struct bh_command *command = NULL;
                struct bh_options options = {0};
                struct bh_error error = {0};

                assert_int_equal(parse(cases[i], &command, &options, &error), -1);
                assert_int_equal(error.code, BH_ERROR_INVALID);
                /* What to do next is part of every refusal. */
                assert_non_null(strstr(error.message, "bulkhead "));
                bh_options_clear(&options);
        }
}

static void test_help_without_a_command(void **state)
{
        (void)state;
        const struct {
                char **argv;
                size_t arguments;
        } cases[] = {
                {ARGV("--help"), 0},
                {ARGV("--version"), 0},
                {ARGV("agents", "--help"), 1},
        };

        for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
                const struct bh_command *command = NULL;
                struct bh_options options = {0};

                assert_int_equal(parse(cases[i].argv, &command, &options, NULL), 0);
                assert_null(command);
                assert_int_equal(options.argument_count, cases[i].arguments);
                bh_options_clear(&options);
        }
}

/* Help must name the usage, every option, and an example that runs this very command. */
static void test_every_command_explains_itself(void **state)
{
        (void)state;
        for (size_t group = 0; group < sizeof(groups) / sizeof(groups[0]); group++)
                for (const struct bh_command *command = groups[group]; command->words[0] != NULL;
                     command++) {
                        char *text = NULL, words[80];
                        size_t size = 0;
                        FILE *out = open_memstream(&text, &size);

                        snprintf(words, sizeof(words), "bulkhead %s%s%s", command->words[0],
                                 command->words[1] != NULL ? " " : "",
                                 command->words[1] != NULL ? command->words[1] : "");
                        bh_command_help(command, 0, out);
                        fclose(out);
                        assert_non_null(strstr(text, "Usage: "));
                        assert_non_null(strstr(command->example, words));
                        assert_non_null(strstr(text, command->example));
                        assert_non_null(command->run);
                        for (const struct bh_option *option = command->options;
                             option != NULL && option->name != NULL; option++) {
                                assert_non_null(option->help);
                                assert_true((option->kind == BH_OPTION_FLAG) ==
                                            (option->value == NULL));
                                assert_non_null(strstr(text, option->name));
                        }
                        free(text);
                }
}

int main(void)
{
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_found),
                cmocka_unit_test(test_what_follows_a_command_line_is_its_own),
                cmocka_unit_test(test_refused),
                cmocka_unit_test(test_help_without_a_command),
                cmocka_unit_test(test_every_command_explains_itself),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
