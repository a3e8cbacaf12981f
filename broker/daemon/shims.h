/* Shim processes: the spares that wait with everything ready that no tenant can tell apart, the
 * one that carries an execution, and those that an earlier broker left. */
#ifndef BULKHEAD_BROKER_DAEMON_SHIMS_H
#define BULKHEAD_BROKER_DAEMON_SHIMS_H

#include <event2/event.h>
#include <sys/queue.h>

#include "base/pidref.h"
#include "broker/daemon/link.h"

struct bh_daemon;
struct bh_live;

struct bh_shim {
        struct bh_daemon *daemon;
        TAILQ_ENTRY(bh_shim) entry; /* spares, the oldest first */
        struct bh_pidref process;   /* nothing for an adopted one */
        struct bh_link *link;
        struct bh_live *live;   /* NULL: spare */
        struct event *adoption; /* deadline of the answer to `adopt` */
        bool started;           /* it was told to go */
        bool adopted;           /* answered `adopt` */
};

TAILQ_HEAD(bh_shim_list, bh_shim);

struct bh_shims {
        struct bh_shim_list spares;
        int64_t spare_count;
        struct event *refill;
        int failures; /* of spares in a row, for the delay before the next */
};

int bh_shims_init(struct bh_daemon *daemon, struct bh_error *error);
void bh_shims_clear(struct bh_daemon *daemon);
/* Makes one spare now, and more after it until there are enough. */
void bh_shims_refill(struct bh_daemon *daemon);

/* Gives live a shim: a spare, or a new one. */
int bh_shim_assign(struct bh_live *live, struct bh_error *error);
/* Lets it build the boundary, while the execution is written to disk. */
int bh_shim_start(struct bh_live *live, struct bh_error *error);
/* Lets the workload run, once it is written. */
void bh_shim_go(struct bh_live *live);
/* Takes channel: the control socket of a shim that outlived its broker. */
void bh_shim_adopt_take(struct bh_live *live, int channel);

/* outcome is a literal. */
void bh_shim_kill(struct bh_shim *shim, const char *outcome, const char *detail);
/* Ends the shim itself and destroys what it had; its execution becomes lost, unless its result
 * lies on disk. */
void bh_shim_give_up(struct bh_live *live, const char *detail);
void bh_shim_watch(struct bh_shim *shim, bool on);
void bh_shim_taken(struct bh_shim *shim);
/* Closes the channel. A shim with an execution goes on by itself; a spare ends. */
void bh_shim_free(struct bh_shim *shim);

/* Takes the result that a shim left on disk for a broker that was away. 1 when there is one. */
int bh_shim_result_from_disk(struct bh_live *live, struct bh_error *error);

int bh_shim_spawn(struct bh_daemon *daemon, int *ret_channel, struct bh_pidref *ret,
                  struct bh_error *error);

#endif
