/* One entry of the audit log and the hash that ties it to the one before (docs/audit.md). Pure.
 * The broker writes and takes up the log with it, `bulkhead audit verify` checks it. */
#ifndef BULKHEAD_BASE_AUDIT_CHAIN_H
#define BULKHEAD_BASE_AUDIT_CHAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/json.h"

#define BH_AUDIT_LINE_MAX ((size_t)1 << 20) /* bytes of one entry in a file */

/* `previous` of entry 1. */
extern const char bh_audit_genesis[BH_DIGEST_TEXT_SIZE];

/* Builds the entry and its hash. subject and detail are objects, borrowed. */
json_t *bh_audit_entry(int64_t sequence, int64_t at_ms, const char *actor, const char *action,
                       json_t *subject, json_t *detail, const char *previous,
                       char ret_hash[BH_DIGEST_TEXT_SIZE]);

struct bh_chain {
        int64_t count;                      /* sequence number of the last good entry */
        int64_t skipped;                    /* entries before the first that was seen */
        bool trusting;                      /* the next entry's word about the one before */
        char previous[BH_DIGEST_TEXT_SIZE]; /* hash of the last, or the first one's `previous` */
};

void bh_chain_start(struct bh_chain *chain);

/* For a piece of the log that starts with entry `first` (0: whichever comes), which is taken at
 * its word about the one before. */
void bh_chain_start_at(struct bh_chain *chain, int64_t first);

/* The next entry: that its sequence number follows, that it names the hash of the one before,
 * and that its own hash is right. */
int bh_chain_check(struct bh_chain *chain, const json_t *entry, struct bh_error *error);

#endif
