/* Who is asking: the Authorization header and the set of tokens that the broker has told. Only
 * digests of tokens are here. The broker checks each request again. Called by exchange.c. */
#ifndef BULKHEAD_API_AUTH_H
#define BULKHEAD_API_AUTH_H

#include <jansson.h>

#include "base/digest.h"
#include "base/error.h"
#include "broker/protocol.h"

struct bh_caller {
        char sha256[BH_SHA256_HEX_SIZE]; /* of the token; "" for nobody */
        enum bh_role role;
        char *tenant; /* owned */
        char *name;   /* owned */
};

struct bh_callers {
        struct bh_caller *list; /* owned */
        size_t count;
};

/* Replaces the set by {"tokens": [{"sha256", "role", "tenant", "name"}]}. On failure the set is
 * as it was. */
int bh_callers_replace(struct bh_callers *callers, const json_t *message, struct bh_error *error);
void bh_callers_clear(struct bh_callers *callers);

/* The token of "Bearer TOKEN" (RFC 6750 section 2.1, RFC 9110 section 11.6.2): the scheme in any
 * case, one space, 16 to 256 bytes of token68. NULL for anything else. *ret_length bytes of the
 * result are the token. */
const char *bh_bearer_parse(const char *header, size_t *ret_length);

/* NULL when the header names nobody. Takes equally long for every wrong token. */
const struct bh_caller *bh_callers_find(const struct bh_callers *callers, const char *header);

#endif
