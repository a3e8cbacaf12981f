/* UTF-8 by RFC 3629: no overlong forms, no surrogates, nothing past U+10FFFF. Called by the
 * JSON scanner, and by errors and the log so that whatever they hold can become JSON. */
#ifndef BULKHEAD_BASE_UTF8_H
#define BULKHEAD_BASE_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* Bytes of the well-formed sequence that text starts with (1-4), or 0. */
size_t bh_utf8_length(const char *text, size_t size);

/* Writes code_point (no surrogate, <= 0x10ffff) and returns its length (1-4). */
size_t bh_utf8_encode(uint32_t code_point, char ret[4]);

/* Puts '?' for every byte of text that is not part of a well-formed sequence. */
void bh_utf8_repair(char *text);

#endif
