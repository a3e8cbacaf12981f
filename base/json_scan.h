/* The linear pass over JSON text that runs before jansson sees it. Called by json.c only. */
#ifndef BULKHEAD_BASE_JSON_SCAN_H
#define BULKHEAD_BASE_JSON_SCAN_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* A JSON pointer being written; what does not fit whole is left out, with all after it. */
struct bh_json_pointer {
        char *buffer;
        size_t size, used;
};

/* buffer becomes "". size must not be 0. */
void bh_json_pointer_start(struct bh_json_pointer *pointer, char *buffer, size_t size);
void bh_json_pointer_key(struct bh_json_pointer *pointer, const char *key);
void bh_json_pointer_index(struct bh_json_pointer *pointer, size_t index);

/* Checks structure, strings and depth of size bytes without recursion. 0, or -1 and
 * BH_ERROR_INVALID with the place. Does not look at whether numbers fit and keys repeat. */
int bh_json_scan(const char *text, size_t size, struct bh_error *error);

/* Writes the pointer of the key or number that ends at or first after offset; text must have
 * passed bh_json_scan. */
void bh_json_scan_locate(const char *text, size_t size, size_t offset, char *buffer,
                         size_t buffer_size);

#endif
