/* Pairs of host uids for executions. */
#include "broker/daemon/slots.h"

#include <string.h>

void bh_slots_init(struct bh_slots *slots)
{
        memset(slots, 0, sizeof(*slots));
        slots->taken[0] = true;
        slots->next = 1;
}

int64_t bh_slots_take(struct bh_slots *slots)
{
        for (size_t i = 0; i < BH_SLOT_COUNT; i++) {
                size_t slot = (slots->next + i) % BH_SLOT_COUNT;
                if (slots->taken[slot])
                        continue;
                slots->taken[slot] = true;
                slots->next = (slot + 1) % BH_SLOT_COUNT;
                return (int64_t)slot;
        }
        return -1;
}

bool bh_slots_claim(struct bh_slots *slots, int64_t slot)
{
        if (slot < 1 || slot >= BH_SLOT_COUNT || slots->taken[slot])
                return false;
        slots->taken[slot] = true;
        return true;
}

void bh_slots_release(struct bh_slots *slots, int64_t slot)
{
        if (slot >= 1 && slot < BH_SLOT_COUNT)
                slots->taken[slot] = false;
}
