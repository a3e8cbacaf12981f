/* Telling a watching broker that output grew: at once when it was quiet, else at most one frame
 * every few milliseconds. Pure; run.c sends. */
#ifndef BULKHEAD_BROKER_SHIM_WATCH_H
#define BULKHEAD_BROKER_SHIM_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#define BH_WATCH_INTERVAL_US INT64_C(5000)

struct bh_watch {
        bool on;
        int64_t out, err; /* as last told */
        int64_t not_before_us;
};

/* From zero: the first frame after it tells all that is kept. */
void bh_watch_switch(struct bh_watch *watch, bool on);

/* Whether there is something to tell. */
bool bh_watch_grew(const struct bh_watch *watch, int64_t out, int64_t err);

/* true when it is to be told now, and is then counted as told. */
bool bh_watch_tell(struct bh_watch *watch, int64_t out, int64_t err, int64_t now_us);

#endif
