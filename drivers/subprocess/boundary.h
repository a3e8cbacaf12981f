/* One running (or half-built) subprocess boundary, as the shim holds it. Shared by the files of
 * drivers/subprocess. */
#ifndef BULKHEAD_DRIVERS_SUBPROCESS_BOUNDARY_H
#define BULKHEAD_DRIVERS_SUBPROCESS_BOUNDARY_H

#include <stdbool.h>

#include "base/json.h"
#include "base/pidref.h"
#include "drivers/driver.h"
#include "drivers/kernel/cgroup.h"
#include "drivers/kernel/readers.h"

extern const struct bh_driver bh_subprocess_driver;

struct bh_subprocess {
        struct bh_boundary base; /* event_fd is init's pidfd */
        struct bh_cgroup *cgroup;
        struct bh_pidref init, workload;
        int channel; /* our end of setup.h's channel */
        bool ended;  /* init is reaped, `end` is filled */
        struct bh_end end;

        struct bh_expected expected;
        json_t *evidence; /* what verify saw; NULL before it did */
};

/* drivers/subprocess/prepare.c: driver.h's prepare. */
int bh_subprocess_prepare(const struct bh_driver_host *host, const struct bh_plan *plan,
                          const struct bh_instance *instance, struct bh_boundary **ret,
                          struct bh_error *error);

/* drivers/subprocess/subprocess.c: driver.h's release. Ends what still runs. */
void bh_subprocess_release(struct bh_boundary *base);

/* drivers/subprocess/controls.c */

/* Every control of the plan must be one that this driver can set up and read back. */
int bh_subprocess_check_controls(const struct bh_plan *plan, struct bh_error *error);
/* Reads every control back and compares; the error names the first that does not hold. Keeps
 * what was seen in boundary->evidence. */
int bh_subprocess_verify(struct bh_subprocess *boundary, struct bh_error *error);
/* driver.h's observe. Each entry also says whether the control "holds", with a "detail" when it
 * does not. */
int bh_subprocess_observe(struct bh_boundary *base, json_t **ret, struct bh_error *error);

/* drivers/subprocess/probe.c: driver.h's probe. */
int bh_subprocess_probe(const struct bh_driver_host *host, enum bh_tier tier,
                        struct bh_tier_host *ret, struct bh_error *error);

/* What helps where a control failed with errnum, or "" when that is not known. */
const char *bh_subprocess_fix(const char *control, int errnum);

/* Where install() puts the template tree and the filter; caller frees. */
char *bh_subprocess_root_path(const struct bh_driver_host *host);
char *bh_subprocess_seccomp_path(const struct bh_driver_host *host);

#endif
