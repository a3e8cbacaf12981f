/* Checking the audit log's hash chain (docs/audit.md): every entry holds the hash of the one
 * before. Pure, and on purpose no code of the broker, which wrote it. Called by audit.c. */
#ifndef BULKHEAD_API_CLI_AUDIT_CHAIN_H
#define BULKHEAD_API_CLI_AUDIT_CHAIN_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/json.h"

struct bh_chain {
        int64_t count;                      /* sequence number of the last good entry */
        int64_t skipped;                    /* entries before the first that was seen */
        bool anywhere;                      /* the first entry may have any number */
        char previous[BH_DIGEST_TEXT_SIZE]; /* hash of the last, or the first one's `previous` */
};

void bh_chain_start(struct bh_chain *chain);

/* For a piece of the log: its first entry is taken at its word about the one before. */
void bh_chain_start_anywhere(struct bh_chain *chain);

/* The next entry: that its sequence number follows, that it names the hash of the one before,
 * and that its own hash is right. */
int bh_chain_check(struct bh_chain *chain, const json_t *entry, struct bh_error *error);

#endif
