/* The end of patience with a driver that blocks. Drivers' slots are synchronous; what they wait
 * for are processes that they started. When the time is over the watchdog kills those, again and
 * again until it is disarmed, so that the slot fails at the step it hangs in and says which. */
#ifndef BULKHEAD_BROKER_SHIM_WATCHDOG_H
#define BULKHEAD_BROKER_SHIM_WATCHDOG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

/* Uses ITIMER_REAL and SIGALRM. */
int bh_watchdog_arm(int64_t after_us, struct bh_error *error);

/* true when it had to act. */
bool bh_watchdog_disarm(void);

#endif
