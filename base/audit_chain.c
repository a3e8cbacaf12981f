/* See audit_chain.h. */
#include "base/audit_chain.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/clock.h"

const char bh_audit_genesis[BH_DIGEST_TEXT_SIZE] =
        "sha256:0000000000000000000000000000000000000000000000000000000000000000";

json_t *bh_audit_entry(int64_t sequence, int64_t at_ms, const char *actor, const char *action,
                       json_t *subject, json_t *detail, const char *previous,
                       char ret_hash[BH_DIGEST_TEXT_SIZE])
{
        char at[BH_TIME_TEXT_SIZE];
        bh_time_format(at_ms, at);
        json_t *entry = json_pack("{sIsssssssOsOss}", "sequence", (json_int_t)sequence, "at", at,
                                  "actor", actor, "action", action, "subject", subject, "detail",
                                  detail, "previous", previous);
        if (!entry)
                bh_alloc_failed();
        bh_json_digest(entry, ret_hash);
        json_object_set_new(entry, "hash", json_string(ret_hash));
        return entry;
}

void bh_chain_start(struct bh_chain *chain)
{
        *chain = (struct bh_chain){.count = 0};
        snprintf(chain->previous, sizeof(chain->previous), "%s", bh_audit_genesis);
}

void bh_chain_start_at(struct bh_chain *chain, int64_t first)
{
        bh_chain_start(chain);
        chain->trusting = true;
        if (first > 1)
                chain->count = chain->skipped = first - 1;
}

static void begin_at(struct bh_chain *chain, int64_t sequence, const char *previous)
{
        chain->trusting = false;
        if (sequence <= 1) /* nothing can be before it */
                return;
        if (chain->count == 0)
                chain->count = chain->skipped = sequence - 1;
        snprintf(chain->previous, sizeof(chain->previous), "%s", previous);
}

int bh_chain_check(struct bh_chain *chain, const json_t *entry, struct bh_error *error)
{
        const json_t *number = json_object_get(entry, "sequence");
        const char *previous = json_string_value(json_object_get(entry, "previous"));
        const char *hash = json_string_value(json_object_get(entry, "hash"));
        int64_t sequence = json_is_integer(number) ? json_integer_value(number) : -1;
        int64_t expected;
        _cleanup_json_ json_t *hashed = NULL;
        char actual[BH_DIGEST_TEXT_SIZE];

        if (chain->trusting && previous != NULL)
                begin_at(chain, sequence, previous);
        expected = chain->count + 1;
        if (previous == NULL || hash == NULL || sequence < 0)
                return bh_error_set(error, BH_ERROR_REFUSED,
                                    "what stands at entry %" PRId64 " is no audit entry", expected);
        if (sequence != expected)
                return bh_error_set(error, BH_ERROR_REFUSED,
                                    "after entry %" PRId64 " comes %" PRId64
                                    ": what was between them is gone or out of order",
                                    chain->count, sequence);
        if (strcmp(previous, chain->previous) != 0)
                return bh_error_set(error, BH_ERROR_REFUSED,
                                    "entry %" PRId64 " does not follow the entry before it",
                                    expected);
        hashed = json_copy((json_t *)entry);
        if (hashed == NULL)
                bh_alloc_failed();
        json_object_del(hashed, "hash");
        bh_json_digest(hashed, actual);
        if (strcmp(actual, hash) != 0)
                return bh_error_set(error, BH_ERROR_REFUSED,
                                    "entry %" PRId64 " is not what was hashed: it was changed",
                                    expected);
        chain->count = expected;
        memcpy(chain->previous, actual, sizeof(actual));
        return 0;
}
