/* The file systems that an execution may write to, made detached by the shim: scratch (/tmp
 * and an ephemeral workspace) and a named workspace's image, with `files` in place. Used by
 * the drivers whose boundaries are made of host processes. */
#ifndef BULKHEAD_DRIVERS_KERNEL_SCRATCH_H
#define BULKHEAD_DRIVERS_KERNEL_SCRATCH_H

#include "drivers/driver.h"

/* The scratch file system of the plan's backing and size, holding `tmp` and, for an ephemeral
 * workspace, `workspace` of the workload's. Returns its mount, or -1. */
int bh_scratch_make(const struct bh_plan *plan, const struct bh_instance *instance,
                    const struct bh_driver_host *host, struct bh_error *error);

/* Puts the files into the workspace. *ret_mount is the detached mount of a named one, still
 * with its owner as on disk, or -1 for an ephemeral one. */
int bh_workspace_make(const struct bh_plan *plan, const struct bh_instance *instance, int scratch,
                      int *ret_mount, struct bh_error *error);

#endif
