/* Reading the broker's answers: members by dotted path, leniently, since a newer broker may say
 * more and an older one less. Pure. Called by the commands. */
#ifndef BULKHEAD_API_CLI_MEMBER_H
#define BULKHEAD_API_CLI_MEMBER_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* "tier.driver" of json; NULL when it is not there or null. */
const json_t *bh_member(const json_t *json, const char *path);
/* NULL when it is no string. */
const char *bh_member_text(const json_t *json, const char *path);
int64_t bh_member_integer(const json_t *json, const char *path, int64_t fallback);
bool bh_member_true(const json_t *json, const char *path);

/* "a, b, c" of an array of strings; "" of anything else. Caller frees. */
char *bh_member_join(const json_t *array);
/* "k=v, …" of an object of strings. Caller frees. */
char *bh_member_pairs(const json_t *object);

#endif
