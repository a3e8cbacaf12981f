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
        int has_head, wraps;
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

void bh_table_wrap(struct bh_table *table)
{
        table->wraps = 1;
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

/* What of *rest stands in this line; *rest moves on. Caller frees. */
static char *take_piece(const struct bh_table *table, const char **rest, size_t columns)
{
        size_t size = strlen(*rest);
        char *piece;

        if (!table->wraps) {
                piece = bh_text_cut(*rest, columns);
        } else {
                size = bh_text_fit(*rest, columns);
                piece = bh_strndup(*rest, size);
                for (size_t end = size; end > 0 && piece[end - 1] == ' '; end--)
                        piece[end - 1] = '\0';
        }
        *rest += size;
        while (**rest == ' ')
                (*rest)++;
        return piece;
}

/* One line of a row. Returns whether the row goes on in another. */
static int write_line(const struct bh_table *table, const char **rest, const size_t *widths,
                      FILE *out)
{
        int more = 0;

        for (size_t column = 0; column < table->columns; column++) {
                _cleanup_free_ char *piece = take_piece(table, &rest[column], widths[column]);
                size_t wide = bh_text_columns(piece), pad = GAP;

                if (wide < widths[column])
                        pad += widths[column] - wide;
                fputs(piece, out);
                if (column + 1 < table->columns)
                        fprintf(out, "%*s", (int)pad, "");
                more = more || rest[column][0] != '\0';
        }
        return more;
}

static void write_row(const struct bh_table *table, size_t row, const size_t *widths, int bold,
                      FILE *out)
{
        _cleanup_free_ const char **rest = bh_alloc_array(table->columns, sizeof(*rest));
        int more = 1;

        for (size_t column = 0; column < table->columns; column++)
                rest[column] = table->cells[row * table->columns + column];
        while (more) {
                fputs(bold ? "\033[1m" : "", out);
                more = write_line(table, rest, widths, out);
                fputs(bold ? "\033[0m\n" : "\n", out);
        }
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
