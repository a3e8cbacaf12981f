/* Idempotency keys: the same key and body give the same execution. */
#ifndef BULKHEAD_BROKER_DAEMON_IDEMPOTENCY_H
#define BULKHEAD_BROKER_DAEMON_IDEMPOTENCY_H

#include "broker/daemon/store.h"

#define BH_IDEMPOTENCY_MS ((int64_t)24 * 60 * 60 * 1000)

/* 1: replay this execution; 0: the key is new; -1: "idempotency_key_reused" when the body is
 * another, or the store's failure. */
int bh_idempotency_look(struct bh_store *store, const char *tenant, const char *key,
                        const char *body_digest, int64_t now_ms, char ret_execution[BH_ID_SIZE],
                        struct bh_error *error);

int bh_idempotency_note(struct bh_store *store, const char *tenant, const char *key,
                        const char *body_digest, const char *execution, int64_t now_ms,
                        struct bh_error *error);

#endif
