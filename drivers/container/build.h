/* Building a boundary up to the workload's process that waits just before execve. Used by
 * container.c. */
#ifndef BULKHEAD_DRIVERS_CONTAINER_BUILD_H
#define BULKHEAD_DRIVERS_CONTAINER_BUILD_H

#include "drivers/container/boundary.h"

/* Fills a new boundary. The error names the control, or says what the runtime said. */
int bh_container_build(struct bh_container *boundary, const struct bh_driver_host *host,
                       const struct bh_plan *plan, const struct bh_instance *instance,
                       struct bh_error *error);

#endif
