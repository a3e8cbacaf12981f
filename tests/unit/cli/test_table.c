/* api/cli/table: alignment, cutting to a terminal, hostile cells. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <locale.h>
#include <stdio.h>
#include <string.h>

#include "api/cli/table.h"
#include "api/cli/text.h"

/* What a table writes. Caller frees. */
static char *written(const struct bh_table *table, size_t columns, int bold)
{
        char *text = NULL;
        size_t size = 0;
        FILE *out = open_memstream(&text, &size);

        assert_non_null(out);
        bh_table_write(table, columns, bold, out);
        fclose(out);
        return text;
}

static struct bh_table *sample(void)
{
        static const char *const headers[] = {"NAME", "SIZE", "TEXT", NULL};
        struct bh_table *table = bh_table_new(headers, 0);

        bh_table_cell(table, "a");
        bh_table_format(table, "%d", 12345);
        bh_table_cell(table, "a long text that a narrow terminal has no room for");
        bh_table_cell(table, "\u4f60\u597d");
        bh_table_cell(table, NULL);
        bh_table_cell(table, "x");
        return table;
}

static void test_aligned(void **state)
{
        (void)state;
        _cleanup_(bh_table_cleanup) struct bh_table *table = sample();
        _cleanup_free_ char *text = written(table, 0, 0);

        assert_int_equal(bh_table_rows(table), 2);
        assert_string_equal(text,
                            "NAME  SIZE   TEXT\n"
                            "a     12345  a long text that a narrow terminal has no room for\n"
                            "\u4f60\u597d  -      x\n");
}

static void test_cut_to_the_terminal(void **state)
{
        (void)state;
        _cleanup_(bh_table_cleanup) struct bh_table *table = sample();

        for (size_t columns = 24; columns < 70; columns++) {
                _cleanup_free_ char *text = written(table, columns, 0);
                char *rest = text;

                for (char *line; (line = strsep(&rest, "\n")) != NULL;)
                        assert_true(bh_text_columns(line) <= columns);
        }
}

static void test_no_room_at_all_still_writes(void **state)
{
        (void)state;
        _cleanup_(bh_table_cleanup) struct bh_table *table = sample();
        _cleanup_free_ char *text = written(table, 1, 0);

        assert_non_null(strstr(text, "a long \u2026"));
}

static void test_wrapped_loses_nothing(void **state)
{
        (void)state;
        _cleanup_(bh_table_cleanup) struct bh_table *table = bh_table_new(NULL, 2);

        bh_table_cell(table, "one two three");
        bh_table_cell(table, "unbreakable-and-long \u4f60\u597d end");
        bh_table_wrap(table);

        _cleanup_free_ char *text = written(table, 20, 0);
        assert_string_equal(text, "one two    unbreakab\n"
                                  "three      le-and-lo\n"
                                  "           ng \u4f60\u597d\n"
                                  "           end\n");
        for (size_t columns = 1; columns < 60; columns++) {
                _cleanup_free_ char *narrow = written(table, columns, 0);
                size_t letters = 0;

                for (const char *at = narrow; *at != '\0'; at++)
                        letters += *at != ' ' && *at != '\n';
                assert_int_equal(letters, 11 + 20 + 6 + 3);
        }
}

static void test_hostile_cells_are_shown_not_obeyed(void **state)
{
        (void)state;
        _cleanup_(bh_table_cleanup) struct bh_table *table = bh_table_new(NULL, 2);

        bh_table_cell(table, "\033[31mred\nline");
        bh_table_cell(table, "b");

        _cleanup_free_ char *text = written(table, 0, 0);
        assert_string_equal(text, "\\x1b[31mred\\nline  b\n");
}

static void test_only_the_head_is_bold(void **state)
{
        (void)state;
        _cleanup_(bh_table_cleanup) struct bh_table *table = sample();
        _cleanup_free_ char *text = written(table, 0, 1);

        assert_ptr_equal(strstr(text, "\033[1mNAME"), text);
        assert_null(strstr(text + 4, "\033[1m"));
}

int main(void)
{
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_aligned),
                cmocka_unit_test(test_cut_to_the_terminal),
                cmocka_unit_test(test_no_room_at_all_still_writes),
                cmocka_unit_test(test_wrapped_loses_nothing),
                cmocka_unit_test(test_hostile_cells_are_shown_not_obeyed),
                cmocka_unit_test(test_only_the_head_is_bold),
        };

        setlocale(LC_CTYPE, "C.UTF-8");
        return cmocka_run_group_tests(tests, NULL, NULL);
}
