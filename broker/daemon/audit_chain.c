/* The form of one audit entry. */
#include "broker/daemon/audit_chain.h"

#include <string.h>

#include "base/alloc.h"
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

int bh_audit_entry_check(const json_t *entry, int64_t sequence, const char *previous,
                         char ret_hash[BH_DIGEST_TEXT_SIZE], struct bh_error *error)
{
        const char *hash = json_string_value(json_object_get(entry, "hash"));
        const char *before = json_string_value(json_object_get(entry, "previous"));
        if (!hash || !before)
                return bh_error_set(error, BH_ERROR_INVALID, "entry %lld is no audit entry",
                                    (long long)sequence);
        if (json_integer_value(json_object_get(entry, "sequence")) != sequence)
                return bh_error_set(error, BH_ERROR_INVALID, "entry %lld is missing",
                                    (long long)sequence);
        if (strcmp(before, previous) != 0)
                return bh_error_set(error, BH_ERROR_INVALID,
                                    "entry %lld does not follow the one before it",
                                    (long long)sequence);
        json_t *bare = json_copy((json_t *)entry);
        json_object_del(bare, "hash");
        char actual[BH_DIGEST_TEXT_SIZE];
        bh_json_digest(bare, actual);
        json_decref(bare);
        if (strcmp(actual, hash) != 0)
                return bh_error_set(error, BH_ERROR_INVALID, "entry %lld was changed",
                                    (long long)sequence);
        memcpy(ret_hash, actual, sizeof(actual));
        return 0;
}
