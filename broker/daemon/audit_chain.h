/* The form of one audit entry and the hash that ties it to the one before. Pure. docs/audit.md
 * is the contract for whoever verifies the files. */
#ifndef BULKHEAD_BROKER_DAEMON_AUDIT_CHAIN_H
#define BULKHEAD_BROKER_DAEMON_AUDIT_CHAIN_H

#include <stdint.h>

#include "base/json.h"

/* `previous` of entry 1. */
extern const char bh_audit_genesis[BH_DIGEST_TEXT_SIZE];

/* Builds the entry and its hash. subject and detail are objects, borrowed. */
json_t *bh_audit_entry(int64_t sequence, int64_t at_ms, const char *actor, const char *action,
                       json_t *subject, json_t *detail, const char *previous,
                       char ret_hash[BH_DIGEST_TEXT_SIZE]);

/* Checks shape and hash of an entry, and that it follows (sequence - 1, previous). */
int bh_audit_entry_check(const json_t *entry, int64_t sequence, const char *previous,
                         char ret_hash[BH_DIGEST_TEXT_SIZE], struct bh_error *error);

#endif
