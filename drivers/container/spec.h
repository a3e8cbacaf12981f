/* The OCI bundle's config.json (runtime-spec 1.0.2) of one execution, as a pure function of its
 * plan. tests/golden/drivers/container holds reviewed ones. */
#ifndef BULKHEAD_DRIVERS_CONTAINER_SPEC_H
#define BULKHEAD_DRIVERS_CONTAINER_SPEC_H

#include "drivers/driver.h"

/* Ids of the user namespace that the runtime itself runs in (launch.h). gVisor's sentry always
 * takes the second. */
#define BH_SPEC_OUTER_ROOT   0
#define BH_SPEC_OUTER_NOBODY 65534U

/* For the tier container: seccomp, masks and all of what a shared kernel needs. For userkernel:
 * what gVisor looks at. Caller frees with json_decref. */
json_t *bh_spec_make(const struct bh_plan *plan);

/* spec_seccomp.c: the seccomp list as linux.seccomp. What the format cannot say (single requests of
 * ioctl, "newer than", no further filters) the filter says that init's child loads on top. */
json_t *bh_spec_seccomp(void);

#endif
