/* Readers for a boundary that has a kernel of its own: what the host sees of gVisor's sentry (which
 * runs the workload) and gofer (which opens its files), and what the sentry says of the workload's
 * process. Called by controls.c through its table.
 *
 * In their bh_view `init` is the sentry, `workload` the gofer, and `told` the guest's word. */
#ifndef BULKHEAD_DRIVERS_CONTAINER_SENTRY_H
#define BULKHEAD_DRIVERS_CONTAINER_SENTRY_H

#include "base/pidref.h"
#include "drivers/kernel/readers.h"

/* The gofer: the other child of the runtime's process. */
int bh_sentry_find_gofer(const struct bh_pidref *manager, const struct bh_pidref *sentry,
                         pid_t *ret, struct bh_error *error);

int bh_sentry_read_namespace(const struct bh_view *view, json_t **ret, struct bh_error *error);
int bh_sentry_read_root(const struct bh_view *view, json_t **ret, struct bh_error *error);
int bh_sentry_read_uid(const struct bh_view *view, json_t **ret, struct bh_error *error);
int bh_sentry_read_capabilities(const struct bh_view *view, json_t **ret, struct bh_error *error);
int bh_sentry_read_no_new_privs(const struct bh_view *view, json_t **ret, struct bh_error *error);
int bh_sentry_read_seccomp(const struct bh_view *view, json_t **ret, struct bh_error *error);
int bh_sentry_read_gateway(const struct bh_view *view, json_t **ret, struct bh_error *error);
int bh_sentry_read_descriptors(const struct bh_view *view, json_t **ret, struct bh_error *error);

#endif
