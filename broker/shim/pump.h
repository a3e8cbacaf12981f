/* The one other thread of a shim: moves the bytes between the workload's pipes and the files.
 *
 * Whoever reads or writes a pipe waits for its lock, and a workload holds that lock while the
 * kernel copies its pages, which it can make take as long as it likes: pages of a slow file, a
 * process that is never scheduled. So what must act in time (deadlines, kills, the broker's word)
 * is in a thread that touches no pipe. When the workload is dead the lock is free.
 *
 * Used by provision.c, run.c and finish.c. */
#ifndef BULKHEAD_BROKER_SHIM_PUMP_H
#define BULKHEAD_BROKER_SHIM_PUMP_H

#include "broker/shim/capture.h"
#include "broker/shim/stdin_feed.h"

struct bh_pump;

/* What it moves: descriptors are the thread's own from the start on. The buffer is borrowed. */
struct bh_pump_streams {
        struct bh_capture out, err;
        struct bh_stdin_feed in;
        char *buffer;
        size_t buffer_size;
};

/* Starts the thread, which waits and holds no lock: processes may still be forked. */
int bh_pump_new(struct bh_pump **ret, struct bh_error *error);

/* Only when no process will be forked any more. Once. Takes the descriptors of *streams (and
 * marks them as gone there). */
void bh_pump_start(struct bh_pump *pump, struct bh_pump_streams *streams);

/* Readable when output came while it is told to say so, and when all has been moved. */
int bh_pump_news_fd(const struct bh_pump *pump);
void bh_pump_tell_news(struct bh_pump *pump, bool on);

/* The counts of both streams as they are now, without descriptors; takes the news. true when all
 * has been moved. */
bool bh_pump_look(struct bh_pump *pump, struct bh_capture *ret_out, struct bh_capture *ret_err);

/* Ends stdin: the workload is gone, and only what is left in the pipes is still to come. */
void bh_pump_end_input(struct bh_pump *pump);

/* Accepts NULL. Joins the thread when it is done or was never started. When it is not, against
 * everything that we know, it is left to the end of the process. */
void bh_pump_free(struct bh_pump *pump);

#endif
