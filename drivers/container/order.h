/* What bulkhead-init (drivers/container/init) is told: by its command line, from the bundle, and
 * by one message on its channel, from the shim. Shared by both sides. */
#ifndef BULKHEAD_DRIVERS_CONTAINER_ORDER_H
#define BULKHEAD_DRIVERS_CONTAINER_ORDER_H

#include <linux/filter.h>
#include <stdint.h>

/* argv: this path, HOST or GUEST, the working directory, then the workload's argv. */
#define BH_INIT_PATH          "/.bulkhead/init"
#define BH_INIT_HOST          "host" /* a process of the host's kernel; its channel is descriptor 3 */
#define BH_INIT_GUEST         "guest" /* of a kernel of its own; its channel is descriptor 0 */

#define BH_INIT_HOST_CHANNEL  3
#define BH_INIT_GUEST_CHANNEL 0

/* The workload's stdin, stdout and stderr; then each file to write "0" into to join a cgroup. */
#define BH_ORDER_STANDARD     3
#define BH_ORDER_FDS_MAX      (BH_ORDER_STANDARD + 5)

/* Followed by the filter's instructions. */
struct bh_order {
        uint32_t instruction_count;
        uint32_t fd_count;
        char fault[32]; /* the control that is to fail, or "" */
};

#define BH_ORDER_SIZE_MAX (sizeof(struct bh_order) + BPF_MAXINSNS * sizeof(struct sock_filter))

#endif
