/* The gateway: the network namespace of one execution. It has no uplink, so egress is denied
 * by the absence of a route. A deny-all gateway has `lo` up and no socket of ours. Made by the
 * shim while it waits for its plan; used by every driver the same way.
 *
 * Making one leaves the caller's network namespace for a moment: the caller has one thread.
 * When the way back fails the process is in the wrong namespace and must end; the error's
 * reason is then BH_GATEWAY_LOST. */
#ifndef BULKHEAD_DRIVERS_KERNEL_GATEWAY_H
#define BULKHEAD_DRIVERS_KERNEL_GATEWAY_H

#include "base/error.h"

#define BH_GATEWAY_LOST "namespace_lost"

/* Makes a network namespace without leaving the caller's, brings `lo` up, checks that no other
 * interface is there. (Some kernels put fallback tunnel devices such as sit0 into every
 * namespace: those must be down.) Returns its descriptor, or -1. */
int bh_gateway_make(struct bh_error *error);

#endif
