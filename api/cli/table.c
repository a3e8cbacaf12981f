/* See table.h. */
#include "api/cli/table.h"

#include <stdarg.h>
#include <string.h>

#include "api/cli/text.h"
#include "base/alloc.h"

#define GAP       2 /* columns between two cells */
#define NARROWEST 8 /* a column is not cut below this */

struct bh_table {
        size_t columns;
        char **cells; /* row by row; the first row is the head when has_head */
        size_t cell_count;
        int has_head;
};

struct bh_table *bh_table_new(const char *const headers[], size_t columns)
{
        struct bh_table *table = bh_alloc(sizeof(*table));

        if (headers != NULL)
                for (columns = 0; headers[columns] != NULL;)
                        columns++;
        table->columns = columns;
        for (size_t index = 0; headers != NULL && index < columns; index++)
                bh_table_cell(table, headers[index]);
        table->has_head = headers != NULL;
        return table;
}

void bh_table_free(struct bh_table *table)
{
        if (table == NULL)
                return;
        for (size_t index = 0; index < table->cell_count; index++)
                free(table->cells[index]);
        free(table->cells);
        free(table);
}

void bh_table_cell(struct bh_table *table, const char *text)
{
        if (text == NULL || text[0] == '\0')
                text = "-";
        table->cells = bh_realloc_array(table->cells, table->cell_count + 1, sizeof(char *));
        table->cells[table->cell_count++] = bh_text_escape(text, strlen(text));
}

void bh_table_cell_take(struct bh_table *table, char *text)
{
        _cleanup_free_ char *taken = text;

        bh_table_cell(table, taken);
}

void bh_table_format(struct bh_table *table, const char *format, ...)
{
        va_list arguments;

        va_start(arguments, format);
        bh_table_cell_take(table, bh_vformat(format, arguments));
        va_end(arguments);
}

size_t bh_table_rows(const struct bh_table *table)
{
        return table->cell_count / table->columns - (table->has_head ? 1 : 0);
}

/* Takes columns from the widest until the line fits or all are narrow. */
static void shrink(size_t *widths, size_t count, size_t columns)
{
        for (;;) {
                size_t total = (count - 1) * GAP, widest = 0;

                for (size_t index = 0; index < count; index++) {
                        total += widths[index];
                        if (widths[index] > widths[widest])
                                widest = index;
                }
                if (total <= columns || widths[widest] <= NARROWEST)
                        return;
                widths[widest]--;
        }
}

static void write_row(const struct bh_table *table, size_t row, const size_t *widths, int bold,
                      FILE *out)
{
        if (bold)
                fputs("\033[1m", out);
        for (size_t column = 0; column < table->columns; column++) {
                _cleanup_free_ char *cell =
                        bh_text_cut(table->cells[row * table->columns + column], widths[column]);
                size_t pad = widths[column] - bh_text_columns(cell) + GAP;

                fputs(cell, out);
                if (column + 1 < table->columns)
                        fprintf(out, "%*s", (int)pad, "");
        }
        fputs(bold ? "\033[0m\n" : "\n", out);
}

void bh_table_write(const struct bh_table *table, size_t columns, int bold, FILE *out)
{
        _cleanup_free_ size_t *widths = bh_alloc_array(table->columns, sizeof(*widths));
        size_t rows = table->cell_count / table->columns;

        for (size_t index = 0; index < rows * table->columns; index++) {
                size_t wide = bh_text_columns(table->cells[index]);

                if (wide > widths[index % table->columns])
                        widths[index % table->columns] = wide;
        }
        if (columns != 0)
                shrink(widths, table->columns, columns);
        for (size_t row = 0; row < rows; row++)
                write_row(table, row, widths, bold && table->has_head && row == 0, out);
}
