/* One output stream of the workload: a pipe that is always read, and a file that keeps its head.
 *
 * Past the limit bytes are counted and dropped: a flood costs neither memory nor disk and does not
 * kill the program. It is read at a measured pace then (128 MB/s), because the shim's own CPU time
 * is the host's and counts against no limit of the workload. Used by run.c. */
#ifndef BULKHEAD_BROKER_SHIM_CAPTURE_H
#define BULKHEAD_BROKER_SHIM_CAPTURE_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

#define BH_CAPTURE_PACE_US INT64_C(500) /* between two buffers that are dropped */

struct bh_capture {
        int pipe_fd;       /* -1 once its end was read */
        int file_fd;       /* -1 once nothing more is kept */
        int64_t limit;     /* bytes to keep */
        int64_t bytes;     /* all that the workload wrote */
        int64_t kept;      /* the file holds exactly these first bytes */
        int write_errno;   /* why keeping ended early, 0: it did not */
        int64_t resume_us; /* not to be read before, by the monotonic clock */
};

#define BH_CAPTURE_NONE ((struct bh_capture){.pipe_fd = -1, .file_fd = -1})

/* Makes the pipe. *ret_writer is the workload's end. */
int bh_capture_open(struct bh_capture *capture, int64_t limit, int *ret_writer,
                    struct bh_error *error);

/* Takes the file to keep the head in; empty. Before anything is pumped. */
void bh_capture_keep_take(struct bh_capture *capture, int file_fd);

/* What to poll now; fd -1 at the end and while it is paced. */
struct pollfd bh_capture_pollfd(const struct bh_capture *capture, int64_t now_us);

/* Reads what is there now, but leaves the other streams their turn after some buffers full, and
 * after the first that is dropped. */
void bh_capture_pump(struct bh_capture *capture, void *buffer, size_t size, int64_t now_us);

bool bh_capture_at_end(const struct bh_capture *capture);
void bh_capture_close(struct bh_capture *capture);

#endif
