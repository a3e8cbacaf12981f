/* The workload's stdin: a pipe fed from the payload as the workload reads, then its end. A
 * program that never reads blocks nobody. Used by run.c. */
#ifndef BULKHEAD_BROKER_SHIM_STDIN_FEED_H
#define BULKHEAD_BROKER_SHIM_STDIN_FEED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

struct bh_stdin_feed {
        int pipe_fd;    /* -1: all was given, or nobody reads any more */
        int payload_fd; /* borrowed */
        uint64_t offset, left;
};

#define BH_STDIN_FEED_NONE ((struct bh_stdin_feed){.pipe_fd = -1, .payload_fd = -1})

/* length bytes from offset of the payload; 0 is an empty stdin. *ret_reader is the workload's
 * end. */
int bh_stdin_feed_open(struct bh_stdin_feed *feed, int payload_fd, uint64_t offset, uint64_t length,
                       int *ret_reader, struct bh_error *error);

/* Writes what fits now. */
void bh_stdin_feed_pump(struct bh_stdin_feed *feed, void *buffer, size_t size);

void bh_stdin_feed_close(struct bh_stdin_feed *feed);

#endif
