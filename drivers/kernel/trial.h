/* The trial behind every probe: a real boundary with every control of its tier and with a named
 * workspace, on an image without a name, is built, run and destroyed. */
#ifndef BULKHEAD_DRIVERS_KERNEL_TRIAL_H
#define BULKHEAD_DRIVERS_KERNEL_TRIAL_H

#include "drivers/driver.h"

/* 0 when it ran and left nothing; else the error says what this host lacks. `variant` is the
 * instance's (driver.h), or NULL; `source` a directory to mount as well, or NULL. */
int bh_trial_run(const struct bh_driver *driver, const struct bh_driver_host *host,
                 enum bh_tier tier, const char *variant, const char *source,
                 struct bh_error *error);

#endif
