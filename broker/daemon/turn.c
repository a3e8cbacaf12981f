/* The queue of what waits for the end of a turn. */
#include "broker/daemon/turn.h"

#include <stdlib.h>

#include "base/alloc.h"

void bh_turn_after(struct bh_turn *turn, enum bh_turn_kind kind, bh_turn_action action, void *data)
{
        if (turn->count[kind] == turn->capacity[kind]) {
                size_t capacity = turn->capacity[kind] ? turn->capacity[kind] * 2 : 16;
                turn->items[kind] =
                        bh_realloc_array(turn->items[kind], capacity, sizeof(*turn->items[kind]));
                turn->capacity[kind] = capacity;
        }
        turn->items[kind][turn->count[kind]++] = (struct bh_turn_item){action, data};
}

bool bh_turn_is_empty(const struct bh_turn *turn)
{
        return turn->count[BH_TURN_ORDER] == 0 && turn->count[BH_TURN_REPLY] == 0;
}

void bh_turn_run(struct bh_turn *turn, bool committed)
{
        struct bh_turn now = *turn;
        *turn = (struct bh_turn){0};
        for (int kind = 0; kind < BH_TURN_KIND_COUNT; kind++)
                for (size_t i = 0; i < now.count[kind]; i++)
                        now.items[kind][i].action(now.items[kind][i].data, committed);
        bh_turn_clear(&now);
}

void bh_turn_clear(struct bh_turn *turn)
{
        for (int kind = 0; kind < BH_TURN_KIND_COUNT; kind++)
                free(turn->items[kind]);
        *turn = (struct bh_turn){0};
}
