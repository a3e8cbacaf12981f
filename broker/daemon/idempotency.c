/* Idempotency keys. The row is written in the same transaction as the execution, and handlers
 * run one after another, so that of many equal requests at once exactly one creates. */
#include "broker/daemon/idempotency.h"

#include <string.h>

int bh_idempotency_look(struct bh_store *store, const char *tenant, const char *key,
                        const char *body_digest, int64_t now_ms, char ret_execution[BH_ID_SIZE],
                        struct bh_error *error)
{
        char digest[BH_DIGEST_TEXT_SIZE], execution[BH_ID_SIZE];
        int r = bh_store_key_get(store, tenant, key, now_ms, digest, execution, error);
        if (r <= 0)
                return r;
        if (strcmp(digest, body_digest) != 0)
                return bh_error_refused(error, "idempotency_key_reused", "",
                                        "this Idempotency-Key was used with another body");
        memcpy(ret_execution, execution, BH_ID_SIZE);
        return 1;
}

int bh_idempotency_note(struct bh_store *store, const char *tenant, const char *key,
                        const char *body_digest, const char *execution, int64_t now_ms,
                        struct bh_error *error)
{
        return bh_store_key_put(store, tenant, key, body_digest, execution,
                                now_ms + BH_IDEMPOTENCY_MS, error);
}
