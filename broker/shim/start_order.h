/* The `start` frame as the shim uses it: plan, host, instance and descriptors, checked in every
 * member before anything is made. Decoded once, by main's run. */
#ifndef BULKHEAD_BROKER_SHIM_START_ORDER_H
#define BULKHEAD_BROKER_SHIM_START_ORDER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/wire.h"
#include "drivers/driver.h"

struct bh_start_order {
        struct bh_plan *plan;
        struct bh_driver_host host;
        struct bh_instance instance; /* its stdio and gateway are still -1 */
        struct bh_file_entry *files; /* instance.files */
        size_t file_count;
        bool has_stdin;
        uint64_t stdin_offset, stdin_length; /* in the payload */
        int payload_fd, workspace_fd;        /* also in instance; owned here */
        int mount_fds[BH_MOUNT_RULES_MAX];   /* instance.mount_fds; owned here */
        size_t mount_count;
};

/* Decodes frame and takes its descriptors; the frame is still the caller's to clear. Whatever is
 * wrong is BH_ERROR_PROTOCOL (the broker is another program of ours) with the place in the
 * message. */
int bh_start_order_decode(struct bh_frame *frame, struct bh_start_order **ret,
                          struct bh_error *error);
/* Closes the sources of mounts once a boundary has what it needs of them. */
void bh_start_order_drop_mounts(struct bh_start_order *order);
void bh_start_order_free(struct bh_start_order *order);
BH_DEFINE_CLEANUP(struct bh_start_order *, bh_start_order, bh_start_order_free);

#endif
