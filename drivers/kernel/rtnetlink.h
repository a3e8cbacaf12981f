/* Lists links of the calling thread's network namespace (rtnetlink(7)). Used by the
 * gateway. */
#ifndef BULKHEAD_DRIVERS_KERNEL_RTNETLINK_H
#define BULKHEAD_DRIVERS_KERNEL_RTNETLINK_H

#include <jansson.h>

#include "base/error.h"

/* Array of {"name", "index", "up"}. */
int bh_rtnetlink_links(json_t **ret, struct bh_error *error);

#endif
