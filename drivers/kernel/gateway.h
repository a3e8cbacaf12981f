/* The gateway: the network namespace of one execution. It has no uplink, so egress is denied
 * by the absence of a route. A deny-all gateway has `lo` up and no socket of ours. Made by the
 * shim while it waits for its plan; used by every driver the same way. */
#ifndef BULKHEAD_DRIVERS_KERNEL_GATEWAY_H
#define BULKHEAD_DRIVERS_KERNEL_GATEWAY_H

#include "base/error.h"

/* Makes a network namespace without leaving the caller's, brings `lo` up, checks that no other
 * interface is there. Returns its descriptor, or -1. */
int bh_gateway_make(struct bh_error *error);

#endif
