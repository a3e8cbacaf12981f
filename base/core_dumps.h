/* Forbidding core dumps, also where the host pipes them to a program. Used by bulkheadd, the shim
 * and the processes that a driver clones. */
#ifndef BULKHEAD_BASE_CORE_DUMPS_H
#define BULKHEAD_BASE_CORE_DUMPS_H

/* For this process and all that it starts, as long as none of them changes RLIMIT_CORE.
 * Async-signal-safe; 0 or -errno. */
int bh_core_dumps_forbid(void);

#endif
