/* Reading back every control of a plan through a driver's table of readers: the comparison
 * before the workload's first instruction, and `observe`. Called by the drivers whose
 * boundaries are made of host processes. */
#ifndef BULKHEAD_DRIVERS_KERNEL_CONTROLS_H
#define BULKHEAD_DRIVERS_KERNEL_CONTROLS_H

#include "drivers/kernel/cgroup.h"
#include "drivers/kernel/readers.h"

/* A driver's table ends with a NULL name. */
struct bh_control_entry {
        const char *name;
        bh_control_reader read; /* NULL: the shim keeps this one */
        const char *source;
};

/* What the plan, the instance and its gateway say; the caller adds what only it knows. */
int bh_expected_fill(struct bh_expected *expected, const struct bh_driver_host *host,
                     const struct bh_plan *plan, const struct bh_instance *instance,
                     struct bh_error *error);
void bh_expected_clear(struct bh_expected *expected);

extern const struct bh_view bh_view_none;

/* Fills a bh_view_none. On failure what was opened is left to bh_view_clear. */
int bh_view_open(const struct bh_expected *expected, const struct bh_cgroup *cgroup, pid_t workload,
                 pid_t init, struct bh_view *ret, struct bh_error *error);
void bh_view_clear(struct bh_view *view);

/* Every control of the plan must be one that the table has. */
int bh_controls_check(const struct bh_control_entry *table, const struct bh_plan *plan,
                      struct bh_error *error);

/* Reads every control back and compares; the error names the first that does not hold. */
int bh_controls_verify(const struct bh_control_entry *table, struct bh_view *view, json_t **ret,
                       struct bh_error *error);

/* driver.h's observe: each entry also says whether the control "holds", with a "detail" when
 * it does not. */
json_t *bh_controls_observe(const struct bh_control_entry *table, struct bh_view *view);

#endif
