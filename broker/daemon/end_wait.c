/* A reply that waits for executions to end. That they do is bounded by bh_live_kill. */
#include "broker/daemon/end_wait.h"

#include <stdlib.h>

#include "base/alloc.h"

struct bh_end_wait {
        struct bh_call *call; /* NULL: nobody waits any longer */
        int status;
        json_t *body;
        size_t pending;
        bool armed;
};

static void finish(struct bh_end_wait *wait)
{
        if (!wait->armed || wait->pending > 0)
                return;
        if (wait->call)
                bh_call_reply_take(wait->call, wait->status, json_incref(wait->body));
        json_decref(wait->body);
        free(wait);
}

static void on_gone(struct bh_call *call, void *data)
{
        struct bh_end_wait *wait = data;
        (void)call;
        wait->call = NULL;
}

static void on_end(struct bh_live *live, void *data)
{
        struct bh_end_wait *wait = data;
        (void)live;
        wait->pending--;
        finish(wait);
}

struct bh_end_wait *bh_end_wait_new_take(struct bh_call *call, int status, json_t *body)
{
        struct bh_end_wait *wait = bh_alloc(sizeof(*wait));
        wait->call = call;
        wait->status = status;
        wait->body = body;
        bh_call_hold(call, on_gone, wait);
        return wait;
}

void bh_end_wait_add(struct bh_end_wait *wait, struct bh_live *live)
{
        wait->pending++;
        bh_live_hook(live, on_end, wait);
}

void bh_end_wait_arm(struct bh_end_wait *wait)
{
        wait->armed = true;
        finish(wait);
}
