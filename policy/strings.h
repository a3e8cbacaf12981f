/* Lists of strings as policy keeps them: an owned array of owned strings with a count beside
 * it. Called by every decoder of this folder that reads one. */
#ifndef BULKHEAD_POLICY_STRINGS_H
#define BULKHEAD_POLICY_STRINGS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/json.h"

/* The array is NULL-terminated, so that an argument vector is such a list too. */
char **bh_strings_copy(char *const *items, size_t count);
void bh_strings_free(char **items, size_t count);

bool bh_strings_contain(char *const *items, size_t count, const char *text);

json_t *bh_strings_encode(char *const *items, size_t count);
/* Sorted by byte: the canonical form of a list whose order means nothing. */
json_t *bh_strings_encode_sorted(char *const *items, size_t count);

/* Checks one element, and may hand back a normalised text of its own in *ret_text (owned);
 * a checker that leaves it NULL keeps the text as it is. */
typedef int (*bh_string_check)(const struct bh_json_at *at, const char *text, char **ret_text,
                               struct bh_error *error);

/* An array of min..max distinct strings of 1..length bytes, each passed to check (which may
 * be NULL). *ret is NULL-terminated; free it with bh_strings_free. */
int bh_strings_decode(const struct bh_json_at *at, size_t min, size_t max, size_t length,
                      bh_string_check check, char ***ret, size_t *ret_count,
                      struct bh_error *error);

/* Sorts the elements of array by their canonical text, for lists of objects whose order means
 * nothing. Takes array's reference and returns a new one. */
json_t *bh_json_sorted_take(json_t *array);

#endif
