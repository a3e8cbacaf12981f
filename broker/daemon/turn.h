/* One turn of the broker's event loop: what handlers decided goes out only after the store and
 * the audit log hold it (docs/architecture.md, "Durability").
 *
 * A handler calls bh_turn_after() for whatever must wait: a reply, a start order, the removal
 * of a file. commit.c runs the turn's actions once, with `committed` saying whether the disk
 * has it. An action always runs, so it is also where what it holds is freed. */
#ifndef BULKHEAD_BROKER_DAEMON_TURN_H
#define BULKHEAD_BROKER_DAEMON_TURN_H

#include <stdbool.h>
#include <stddef.h>

typedef void (*bh_turn_action)(void *data, bool committed);

enum bh_turn_kind {
        BH_TURN_ORDER, /* to shims: first, since work can then begin */
        BH_TURN_REPLY, /* to clients */
        BH_TURN_KIND_COUNT,
};

struct bh_turn_item {
        bh_turn_action action;
        void *data;
};

struct bh_turn {
        struct bh_turn_item *items[BH_TURN_KIND_COUNT];
        size_t count[BH_TURN_KIND_COUNT];
        size_t capacity[BH_TURN_KIND_COUNT];
};

void bh_turn_after(struct bh_turn *turn, enum bh_turn_kind kind, bh_turn_action action, void *data);
bool bh_turn_is_empty(const struct bh_turn *turn);

/* Runs and forgets the actions, orders first. What they add waits for the next commit. */
void bh_turn_run(struct bh_turn *turn, bool committed);
void bh_turn_clear(struct bh_turn *turn);

#endif
