/* Pairs of host uids for executions: slot n is uid_base + 2n (workload) and uid_base + 2n + 1
 * (init). Slot 0 belongs to bulkhead-api. A slot is never given out while something holds it,
 * and as late as possible after it was given back. Pure. */
#ifndef BULKHEAD_BROKER_DAEMON_SLOTS_H
#define BULKHEAD_BROKER_DAEMON_SLOTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BH_SLOT_COUNT 32768

struct bh_slots {
        bool taken[BH_SLOT_COUNT];
        size_t next;
};

void bh_slots_init(struct bh_slots *slots);
/* -1 when all are taken. */
int64_t bh_slots_take(struct bh_slots *slots);
/* For executions found at start. false when it is out of range or taken. */
bool bh_slots_claim(struct bh_slots *slots, int64_t slot);
void bh_slots_release(struct bh_slots *slots, int64_t slot); /* -1 is nothing */

#endif
