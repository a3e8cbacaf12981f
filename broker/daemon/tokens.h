/* The tokens that are known, by the SHA-256 of their text. Loaded from the store at start;
 * the first three are made when there are none. */
#ifndef BULKHEAD_BROKER_DAEMON_TOKENS_H
#define BULKHEAD_BROKER_DAEMON_TOKENS_H

#include "broker/daemon/principal.h"
#include "broker/daemon/store.h"

#define BH_DEFAULT_TENANT "default"

struct bh_token {
        char sha256[BH_SHA256_HEX_SIZE];
        struct bh_principal principal;
        int64_t expires_ms; /* 0: never */
};

struct bh_tokens {
        struct bh_token *items;
        size_t count;
};

int bh_tokens_load(struct bh_tokens *tokens, struct bh_store *store, struct bh_error *error);
void bh_tokens_clear(struct bh_tokens *tokens);

/* Makes operator, orchestrator and auditor when the store has none, writing each into directory
 * (0600) before the store has its hash. The caller commits. Returns how many it made. */
int bh_tokens_bootstrap(struct bh_store *store, int directory, struct bh_error *error);

/* NULL when unknown or expired. Takes as long for every wrong hash. */
const struct bh_principal *bh_tokens_find(const struct bh_tokens *tokens, const char *sha256,
                                          int64_t now_ms);

/* The `tokens` of {"event": "principals"}: those that have not expired. */
json_t *bh_tokens_encode(const struct bh_tokens *tokens, int64_t now_ms);

#endif
