/* What bulkhead-init does otherwise under a kernel of its own (gVisor): dropping by the calls that
 * kernel has, and telling what that kernel says, since the host cannot look. */
#ifndef BULKHEAD_DRIVERS_CONTAINER_INIT_GUEST_H
#define BULKHEAD_DRIVERS_CONTAINER_INIT_GUEST_H

#include <sys/types.h>

/* Empties the bounding set, becomes uid (and gid), empties the other sets. 0 or -errno. */
int bh_guest_drop(uid_t uid);

/* Sends the fields of the calling process's /proc/self/status that the shim compares, one
 * BH_REPORT_TOLD each. */
void bh_guest_tell(int channel);

#endif
