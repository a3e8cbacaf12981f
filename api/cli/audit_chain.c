/* See audit_chain.h. */
#include "api/cli/audit_chain.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "api/cli/member.h"
#include "base/alloc.h"
#include "base/cleanup.h"

static const char GENESIS[] =
        "sha256:0000000000000000000000000000000000000000000000000000000000000000";

void bh_chain_start(struct bh_chain *chain)
{
        *chain = (struct bh_chain){.count = 0};
        snprintf(chain->previous, sizeof(chain->previous), "%s", GENESIS);
}

void bh_chain_start_anywhere(struct bh_chain *chain)
{
        bh_chain_start(chain);
        chain->anywhere = true;
}

static void begin_at(struct bh_chain *chain, int64_t sequence, const char *previous)
{
        chain->anywhere = false;
        if (sequence <= 1)
                return;
        chain->count = chain->skipped = sequence - 1;
        snprintf(chain->previous, sizeof(chain->previous), "%s", previous);
}

int bh_chain_check(struct bh_chain *chain, const json_t *entry, struct bh_error *error)
{
        int64_t sequence = bh_member_integer(entry, "sequence", -1), expected;
        const char *previous = bh_member_text(entry, "previous");
        const char *hash = bh_member_text(entry, "hash");
        _cleanup_json_ json_t *hashed = NULL;
        char actual[BH_DIGEST_TEXT_SIZE];

        if (chain->anywhere && previous != NULL)
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
