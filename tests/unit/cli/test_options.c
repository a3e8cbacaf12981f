/* api/cli/options: every kind of value, and what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "api/cli/options.h"

static const struct bh_option table[] = {
        {.name = "agent", .letter = 'a', .kind = BH_OPTION_TEXT, .value = "A", .required = true},
        {.name = "env", .letter = 'e', .kind = BH_OPTION_PAIRS, .value = "K=V"},
        {.name = "file", .kind = BH_OPTION_LIST, .value = "PATH"},
        {.name = "pids", .kind = BH_OPTION_COUNT, .value = "N"},
        {.name = "memory", .kind = BH_OPTION_SIZE, .value = "SIZE"},
        {.name = "timeout", .kind = BH_OPTION_DURATION, .value = "S"},
        {.name = "json", .kind = BH_OPTION_FLAG},
        {0},
};
static const struct bh_option *const tables[] = {table, NULL};

static int count_of(char *const argv[])
{
        int count = 0;

        while (argv[count] != NULL)
                count++;
        return count;
}

static int parse(struct bh_options *options, bool stop, char *const argv[], struct bh_error *error)
{
        return bh_options_parse(options, tables, stop, argv, count_of(argv), error);
}

#define ARGV(...) ((char *[]){__VA_ARGS__, NULL})

static void test_kinds(void **state)
{
        (void)state;
        struct bh_options options = {0};
        char **argv = ARGV("--agent", "a1", "-e", "A=1", "--env=B=2=3", "--file", "x", "--file=y",
                           "--pids", "7", "--memory=1.5GiB", "--timeout", "2.5", "--json", "rest");

        assert_int_equal(parse(&options, false, argv, NULL), 15);
        assert_string_equal(bh_options_text(&options, "agent"), "a1");
        assert_string_equal(bh_options_item(&options, "env", 0), "A=1");
        assert_string_equal(bh_options_item(&options, "env", 1), "B=2=3");
        assert_null(bh_options_item(&options, "env", 2));
        assert_string_equal(bh_options_item(&options, "file", 1), "y");
        assert_int_equal(bh_options_number(&options, "pids", 0), 7);
        assert_int_equal(bh_options_number(&options, "memory", 0), 1610612736);
        assert_int_equal(bh_options_number(&options, "timeout", 0), 2500);
        assert_int_equal(bh_options_number(&options, "absent", 42), 42);
        assert_true(bh_options_flag(&options, "json"));
        assert_int_equal(options.argument_count, 1);
        assert_string_equal(options.arguments[0], "rest");
        assert_int_equal(bh_options_complete(&options, table, NULL), 0);
        bh_options_clear(&options);
}

static void test_numbers(void **state)
{
        (void)state;
        static const struct {
                const char *option, *text;
                int64_t value; /* 0: refused */
        } cases[] = {
                {"--pids", "1", 1},
                {"--pids", "0", 0},
                {"--pids", "-1", 0},
                {"--pids", "1.5", 0},
                {"--pids", "1e3", 0},
                {"--pids", "0x10", 0},
                {"--pids", "", 0},
                {"--pids", " 1", 0},
                {"--pids", "1K", 0},
                {"--pids", "nan", 0},
                {"--pids", "99999999999999999999", 0},
                {"--memory", "64M", 67108864},
                {"--memory", "64mib", 67108864},
                {"--memory", "1T", INT64_C(1) << 40},
                {"--memory", "100", 100},
                {"--memory", "0.5", 0},
                {"--memory", "1.5K", 1536},
                {"--memory", "64Q", 0},
                {"--memory", "M", 0},
                {"--memory", "1..5M", 0},
                {"--timeout", "30", 30000},
                {"--timeout", "500ms", 500},
                {"--timeout", "2m", 120000},
                {"--timeout", "1h", 3600000},
                {"--timeout", "0.001", 1},
                {"--timeout", "0.0004", 0},
                {"--timeout", "0", 0},
                {"--timeout", "inf", 0},
                {"--timeout", "5 s", 0},
        };

        for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
                struct bh_options options = {0};
                struct bh_error error = {0};
                int used = parse(&options, false,
                                 ARGV((char *)cases[i].option, (char *)cases[i].text), &error);

                if (cases[i].value == 0) {
                        assert_int_equal(used, -1);
                        assert_int_equal(error.code, BH_ERROR_INVALID);
                } else {
                        assert_int_equal(used, 2);
                        assert_int_equal(bh_options_number(&options, cases[i].option + 2, 0),
                                         cases[i].value);
                }
                bh_options_clear(&options);
        }
}

static void test_refused(void **state)
{
        (void)state;
        char **const cases[] = {
                ARGV("--unknown"),
                ARGV("-x"),
                ARGV("-ae"),
                ARGV("--agent"),
                ARGV("--agent="),
                ARGV("--agent", "a", "--agent", "b"),
                ARGV("--json=yes"),
                ARGV("--env", "novalue"),
                ARGV("--env", "=v"),
                ARGV("-e", "A=1", "-e", "A=2"),
                ARGV("--agen", "a"),
                ARGV("---agent", "a"),
                ARGV("--pids", "1", "--pids", "1"),
        };

        for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
                struct bh_options options = {0};
                struct bh_error error = {0};

                assert_int_equal(parse(&options, false, cases[i], &error), -1);
                assert_int_equal(error.code, BH_ERROR_INVALID);
                assert_true(error.message[0] != '\0');
                bh_options_clear(&options);
        }
}

static void test_where_it_stops(void **state)
{
        (void)state;
        struct bh_options options = {0};

        assert_int_equal(parse(&options, true, ARGV("--json", "word", "--agent", "a"), NULL), 1);
        assert_int_equal(options.argument_count, 0);
        bh_options_clear(&options);

        assert_int_equal(parse(&options, true, ARGV("--json", "--", "--agent", "-"), NULL), 4);
        assert_int_equal(options.argument_count, 2);
        assert_string_equal(options.arguments[0], "--agent");
        assert_null(bh_options_text(&options, "agent"));
        bh_options_clear(&options);

        /* A single dash is an argument: standard input. */
        assert_int_equal(parse(&options, false, ARGV("-", "--json"), NULL), 2);
        assert_string_equal(options.arguments[0], "-");
        bh_options_clear(&options);
}

static void test_required(void **state)
{
        (void)state;
        struct bh_options options = {0};
        struct bh_error error = {0};

        assert_int_equal(bh_options_complete(&options, table, &error), -1);
        assert_string_equal(error.message, "--agent A is missing");
        assert_int_equal(bh_options_complete(&options, NULL, &error), 0);
}

int main(void)
{
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_kinds),    cmocka_unit_test(test_numbers),
                cmocka_unit_test(test_refused),  cmocka_unit_test(test_where_it_stops),
                cmocka_unit_test(test_required),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
