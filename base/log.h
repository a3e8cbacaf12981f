/* Structured logging: one JSON object a line, on stderr. Called by mains and by the place
 * that ends an error's way; never by library code.
 *
 * Redaction is by key and by shape: members named like a credential (token, authorization,
 * cookie, secret, password, value, stdin, env) and any bearer token or placeholder
 * ("bht_...", "bhs_...") inside a string are masked before a byte is written. */
#ifndef BULKHEAD_BASE_LOG_H
#define BULKHEAD_BASE_LOG_H

#include <jansson.h>

#include "base/error.h"

enum bh_log_level { BH_LOG_DEBUG, BH_LOG_INFO, BH_LOG_WARNING, BH_LOG_ERROR };

/* program is kept by reference. fd is where lines go (normally 2). */
void bh_log_open(const char *program, enum bh_log_level least, int fd);

/* {"time":…, "level":…, "program":…, "event":…, …fields}. fields is an object or NULL; its
 * reference is taken. */
void bh_log_take(enum bh_log_level level, const char *event, json_t *fields);

/* The same with error's members and one context string. */
void bh_log_error(const char *event, const char *context, const struct bh_error *error);

/* Masks text in place of credentials as above. Caller frees. */
char *bh_redact(const char *text);

#endif
