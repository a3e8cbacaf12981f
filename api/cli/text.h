/* Text from outside made fit for a terminal: control characters shown instead of obeyed, widths
 * counted in columns, numbers with units. Pure. Called by everything in the client that prints
 * for people. */
#ifndef BULKHEAD_API_CLI_TEXT_H
#define BULKHEAD_API_CLI_TEXT_H

#include <stddef.h>
#include <stdint.h>

/* A copy of size bytes in which nothing can move a cursor, change a colour, reorder or hide
 * text: C0, DEL, C1, bidirectional and zero-width controls and broken UTF-8 become visible
 * escapes (\n, \x1b, \u{202e}). Caller frees. */
char *bh_text_escape(const char *text, size_t size);

/* Columns that escaped text takes on a terminal. Needs a UTF-8 LC_CTYPE (main sets C.UTF-8). */
size_t bh_text_columns(const char *text);

/* text when it fits in columns, else its head and an ellipsis. Caller frees. */
char *bh_text_cut(const char *text, size_t columns);

/* How many bytes of text fit in columns, broken after a space if there is one, else anywhere; at
 * least one character. */
size_t bh_text_fit(const char *text, size_t columns);

/* "64 MiB", "1.5 GiB", "512 B". Caller frees. */
char *bh_text_size(int64_t bytes);

/* "12 ms", "1.5 s", "2 min 5 s". Caller frees. */
char *bh_text_duration(int64_t milliseconds);

#endif
