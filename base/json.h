/* Strict JSON: what the API, the config and policy files and the wire accept.
 *
 * Parsing refuses duplicate keys, NUL, invalid UTF-8, lone surrogates, numbers that do not
 * fit, trailing bytes and nesting past a limit. Decoding walks the tree with a bh_json_at,
 * which knows its own JSON pointer (RFC 6901), so that every error names its place. */
#ifndef BULKHEAD_BASE_JSON_H
#define BULKHEAD_BASE_JSON_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

#define BH_JSON_DEPTH_MAX 32

/* Parses size bytes. On failure error is BH_ERROR_INVALID, subject the pointer of the value
 * (or the second of two equal keys) at which parsing stopped. */
int bh_json_parse(const char *text, size_t size, json_t **ret, struct bh_error *error);

/* Compact, keys sorted by code point, no escapes but the necessary: the form that is hashed.
 * Caller frees. */
char *bh_json_canonical(const json_t *json);

/* Compact text in member order, for the wire and the API. Caller frees. */
char *bh_json_text(const json_t *json);

#define BH_DIGEST_TEXT_SIZE 72 /* "sha256:" + 64 hex digits + NUL */

/* "sha256:<hex>" of the canonical form. */
void bh_json_digest(const json_t *json, char ret[BH_DIGEST_TEXT_SIZE]);

/* A place in a document. Lives on the stack; points at its parent. */
struct bh_json_at {
        const json_t *value;
        const struct bh_json_at *parent;
        const char *key; /* member name, or NULL for an element or the root */
        size_t index;
};

#define BH_JSON_ROOT(json) ((struct bh_json_at){.value = (json)})

/* Renders at's pointer into buffer (truncated safely), "" for the root. */
void bh_json_pointer(const struct bh_json_at *at, char *buffer, size_t size);

/* BH_ERROR_INVALID with at's pointer. Returns -1. */
int bh_json_fail(const struct bh_json_at *at, struct bh_error *error, const char *format, ...)
        __attribute__((format(printf, 3, 4)));

/* at must be an object that has no member outside the NULL-terminated list. */
int bh_json_object(const struct bh_json_at *at, const char *const members[],
                   struct bh_error *error);
/* true and *ret filled when the member is there (a JSON null is there). */
bool bh_json_member(const struct bh_json_at *at, const char *key, struct bh_json_at *ret);
int bh_json_require(const struct bh_json_at *at, const char *key, struct bh_json_at *ret,
                    struct bh_error *error);

int bh_json_array(const struct bh_json_at *at, size_t min, size_t max, size_t *ret_count,
                  struct bh_error *error);
struct bh_json_at bh_json_element(const struct bh_json_at *at, size_t index);

/* A string of min..max bytes. *ret_text borrows from the document. */
int bh_json_string(const struct bh_json_at *at, size_t min, size_t max, const char **ret_text,
                   struct bh_error *error);
/* An integer (a real such as 1.0 is refused) in min..max. */
int bh_json_integer(const struct bh_json_at *at, int64_t min, int64_t max, int64_t *ret,
                    struct bh_error *error);
int bh_json_boolean(const struct bh_json_at *at, bool *ret, struct bh_error *error);
/* One of the NULL-terminated names; *ret is its index. */
int bh_json_choice(const struct bh_json_at *at, const char *const names[], int *ret,
                   struct bh_error *error);

#endif
