/* Writing an execution's `files` into its workspace, from the host and before the boundary
 * exists. Earlier executions may have left links, fifos and devices under any name there:
 * nothing is followed, nothing that exists is opened for writing. Used by scratch.c. */
#ifndef BULKHEAD_DRIVERS_KERNEL_FILES_H
#define BULKHEAD_DRIVERS_KERNEL_FILES_H

#include "drivers/driver.h"

/* directory is the workspace's root. Each file is written under a name of its own and renamed
 * into place, so that whatever stood there is replaced, not written through. Files and the
 * directories made on the way belong to owner (uid and gid). */
int bh_files_write(int directory, const struct bh_instance *instance, uid_t owner,
                   struct bh_error *error);

/* Makes the workload the owner of its pipes: it may open /dev/stdout again only then. */
int bh_files_give_pipes(const struct bh_instance *instance, struct bh_error *error);

#endif
