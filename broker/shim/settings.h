/* What a shim needs from outside of its channel. main.c fills it with the real things; tests put
 * doubles and short times here. */
#ifndef BULKHEAD_BROKER_SHIM_SETTINGS_H
#define BULKHEAD_BROKER_SHIM_SETTINGS_H

#include <stdint.h>

#include "drivers/driver.h"

struct bh_shim_settings {
        const struct bh_driver *(*driver_by_name)(const char *name);
        int (*gateway_make)(struct bh_error *error);
        int stop_fd;          /* readable once the shim was told to stop (SIGTERM) */
        unsigned online_cpus; /* how many can burn CPU time at once */
        const char *fault;    /* tests: the control that is to fail, or NULL */
        char *buffer;         /* for moving bytes between pipes and files */
        size_t buffer_size;

        int64_t provision_us; /* until a boundary must stand */
        int64_t kill_us;      /* from a kill until the boundary is torn down by id */
        int64_t drain_us;     /* for the end of both pipes, once nobody is left to write */
        int64_t taken_us;     /* for the broker to store the result */
        int64_t retry_us;     /* between attempts to write the result where the disk is full */
};

#define BH_SHIM_PROVISION_US INT64_C(10000000)
#define BH_SHIM_KILL_US      INT64_C(5000000)
#define BH_SHIM_DRAIN_US     INT64_C(2000000)
#define BH_SHIM_TAKEN_US     INT64_C(30000000)
#define BH_SHIM_RETRY_US     INT64_C(1000000)

#endif
