/* Giving up power for good. Called by a boundary's init and by the workload's process, before
 * anything that is not ours runs. Async-signal-safe; 0 or -errno. */
#ifndef BULKHEAD_DRIVERS_KERNEL_PRIVILEGES_H
#define BULKHEAD_DRIVERS_KERNEL_PRIVILEGES_H

#include <sys/types.h>

/* Empties the bounding set and locks the securebits, so that no set fills again by being uid 0
 * or by execve (capabilities(7)). What the caller may do now stays. */
int bh_privileges_bound(void);

/* Becomes uid and gid, real, effective and saved, and empties the other four capability sets.
 * After bh_privileges_bound; the caller has dropped its groups. */
int bh_privileges_drop(uid_t uid, gid_t gid);

/* no_new_privs, inherited by everything from here on (prctl(2)). */
int bh_privileges_no_new(void);

#endif
