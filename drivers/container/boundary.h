/* One running (or half-built) container boundary, as the shim holds it. Shared by the files of
 * drivers/container. */
#ifndef BULKHEAD_DRIVERS_CONTAINER_BOUNDARY_H
#define BULKHEAD_DRIVERS_CONTAINER_BOUNDARY_H

#include "base/pidref.h"
#include "drivers/container/runtime.h"
#include "drivers/driver.h"
#include "drivers/kernel/cgroup.h"
#include "drivers/kernel/readers.h"

extern const struct bh_driver bh_container_driver;

struct bh_container {
        struct bh_boundary base; /* event_fd is an epoll of the channel and the runtime's pidfd */
        const struct bh_runtime *runtime;
        struct bh_cgroup *cgroup;
        struct bh_pidref manager; /* the runtime: our child, pid 1 of its pid namespace */
        /* container: the workload's process and init. userkernel: both are the sentry. */
        struct bh_pidref workload, init;
        int channel; /* our end of it; see drivers/kernel/report.h */
        int log;     /* what the runtime said */
        bool killed; /* by kill(): whatever is lost then, it was killed */
        bool told;   /* `end` is filled, or the channel is at its end */
        bool ended;  /* the runtime is reaped, and so everything is gone */
        struct bh_end end;
        int64_t cpu_before_us; /* used by a userkernel's own start */

        struct bh_expected expected;
        json_t *guest;    /* userkernel: field of status → what the guest kernel says */
        json_t *evidence; /* what verify saw; NULL before it did */
};

/* controls.c */
int bh_container_check_controls(const struct bh_plan *plan, struct bh_error *error);
int bh_container_verify(struct bh_container *boundary, struct bh_error *error);
int bh_container_observe(struct bh_boundary *base, json_t **ret, struct bh_error *error);

/* probe.c: driver.h's probe. */
int bh_container_probe(const struct bh_driver_host *host, enum bh_tier tier,
                       struct bh_tier_host *ret, struct bh_error *error);

/* Where install() puts the template tree and the filter; caller frees. */
char *bh_container_root_path(const struct bh_driver_host *host);
char *bh_container_seccomp_path(const struct bh_driver_host *host);

#endif
