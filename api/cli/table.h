/* Aligned tables for people. Cells are escaped (text.h) when they come in, so no value from a
 * workload or a broker reaches the terminal raw. Called by the commands. */
#ifndef BULKHEAD_API_CLI_TABLE_H
#define BULKHEAD_API_CLI_TABLE_H

#include <stdio.h>

#include "base/cleanup.h"

struct bh_table;

/* headers: NULL-terminated, or NULL for a table of columns without a head line. */
struct bh_table *bh_table_new(const char *const headers[], size_t columns);
void bh_table_free(struct bh_table *table);
BH_DEFINE_CLEANUP(struct bh_table *, bh_table, bh_table_free);

/* The next cell, left to right, then the next line. NULL shows as "-". */
void bh_table_cell(struct bh_table *table, const char *text);
/* The same from a formatted text. */
void bh_table_format(struct bh_table *table, const char *format, ...)
        __attribute__((format(printf, 2, 3)));
/* The same, taking text. */
void bh_table_cell_take(struct bh_table *table, char *text);

size_t bh_table_rows(const struct bh_table *table);

/* Cells of prose: where the terminal has no room they go on in further lines. */
void bh_table_wrap(struct bh_table *table);

/* columns: of the terminal; the widest cells are cut (or wrapped) until a line fits. 0: nothing is
 * cut. bold: the head line is written bold. */
void bh_table_write(const struct bh_table *table, size_t columns, int bold, FILE *out);

#endif
