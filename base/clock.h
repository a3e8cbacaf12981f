/* Time. Deadlines use the monotonic clock, records the wall clock; nothing converts between
 * the two. */
#ifndef BULKHEAD_BASE_CLOCK_H
#define BULKHEAD_BASE_CLOCK_H

#include <stdint.h>

#define BH_TIME_TEXT_SIZE 32

int64_t bh_monotonic_us(void);
int64_t bh_realtime_ms(void); /* since the epoch, UTC */

/* RFC 3339, UTC, milliseconds: "2026-11-30T11:39:55.123Z". */
void bh_time_format(int64_t realtime_ms, char ret[BH_TIME_TEXT_SIZE]);

#endif
