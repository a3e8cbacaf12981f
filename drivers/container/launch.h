/* From a set of descriptors to a running OCI runtime: the process that becomes the runtime puts
 * every piece in its place (places.h) in a mount and a pid namespace of its own, enters the
 * gateway and the cgroup namespace, and executes it as root of a user namespace that has the
 * execution's two host uids and nothing else. So the runtime holds no power over the host while it
 * works, and since it is pid 1 and dies with the shim, nothing of a boundary can outlive it,
 * whatever state the runtime was in: no state directory, no mount, no process. Used by container.c.
 */
#ifndef BULKHEAD_DRIVERS_CONTAINER_LAUNCH_H
#define BULKHEAD_DRIVERS_CONTAINER_LAUNCH_H

#include "base/pidref.h"
#include "drivers/container/runtime.h"
#include "drivers/driver.h"
#include "drivers/kernel/cgroup.h"

/* All borrowed. Read by a fork of the shim where it lies. */
struct bh_launch {
        const struct bh_runtime *runtime;
        const struct bh_instance *instance;
        const struct bh_cgroup *cgroup;
        const char *root;   /* the template's path */
        const char *path;   /* the runtime's */
        char *const *words; /* its argv */
        int bundle;         /* detached mount with bundle/ and all mount points */
        int scratch, shm;   /* detached mounts */
        int workspace;      /* detached and idmapped; -1: the one on scratch */
        bool workspace_writable;
        int cgroup_namespace;
        int channel; /* the boundary's end */
        int null;    /* /dev/null */
        int log;     /* takes what the runtime says */
};

/* On success *ret is our child: pid 1 of the runtime's pid namespace. What it cannot do it reports
 * on the channel. */
int bh_launch_run(const struct bh_launch *launch, struct bh_pidref *ret, struct bh_error *error);

#endif
