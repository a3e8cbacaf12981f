/* Waiters and watchers of executions. */
#include "broker/daemon/watch.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "broker/daemon/daemon.h"
#include "broker/daemon/timeval.h"

/* One call that waits for the end, or that is told all on the way there. */
struct bh_waiter {
        LIST_ENTRY(bh_waiter) entry;
        struct bh_live *live;
        struct bh_call *call;
        int status;                   /* of the reply to a wait */
        struct event *timer;          /* of a wait */
        bool begun;                   /* a watcher has its reply */
        enum bh_execution_state told; /* to a watcher */
};

static void waiter_free(struct bh_waiter *waiter)
{
        LIST_REMOVE(waiter, entry);
        if (waiter->timer)
                event_free(waiter->timer);
        free(waiter);
}

static void answer(struct bh_waiter *waiter)
{
        struct bh_live *live = waiter->live;
        struct bh_call *call = waiter->call;
        int status = waiter->status;
        waiter_free(waiter);
        bh_call_reply_take(call, status, bh_execution_show(live->daemon, call, live->record));
}

static void answer_all(struct bh_live *live)
{
        struct bh_waiter *waiter = LIST_FIRST(&live->waiters), *next = NULL;
        for (; waiter; waiter = next) {
                next = LIST_NEXT(waiter, entry);
                answer(waiter);
        }
}

static void on_time_over(evutil_socket_t fd, short what, void *data)
{
        (void)fd;
        (void)what;
        answer(data);
}

static void on_waiter_gone(struct bh_call *call, void *data)
{
        (void)call;
        waiter_free(data);
}

static void on_watcher_gone(struct bh_call *call, void *data)
{
        struct bh_waiter *waiter = data;
        struct bh_live *live = waiter->live;
        bool last = LIST_FIRST(&live->watchers) == waiter && !LIST_NEXT(waiter, entry);
        (void)call;
        waiter_free(waiter);
        if (last && live->shim)
                bh_shim_watch(live->shim, false);
}

void bh_live_wait(struct bh_live *live, struct bh_call *call, int status, int64_t wait_ms)
{
        struct bh_daemon *daemon = live->daemon;
        if (wait_ms <= 0 || live->record->state == BH_EXECUTION_ENDED || daemon->draining) {
                bh_call_reply_take(call, status, bh_execution_show(daemon, call, live->record));
                return;
        }
        struct bh_waiter *waiter = bh_alloc(sizeof(*waiter));
        const struct timeval time = bh_timeval_ms(wait_ms);
        waiter->live = live;
        waiter->call = call;
        waiter->status = status;
        waiter->timer = event_new(daemon->base, -1, 0, on_time_over, waiter);
        if (!waiter->timer)
                bh_alloc_failed();
        event_add(waiter->timer, &time);
        LIST_INSERT_HEAD(&live->waiters, waiter, entry);
        bh_call_hold(call, on_waiter_gone, waiter);
}

/* The moment a state was entered, 0 when it never was. */
static int64_t entered_ms(const struct bh_execution *record, enum bh_execution_state state)
{
        switch (state) {
        case BH_EXECUTION_QUEUED:
                return record->created_ms;
        case BH_EXECUTION_PROVISIONING:
                return record->provisioning_ms;
        case BH_EXECUTION_RUNNING:
                return record->started_ms;
        default:
                return record->ended_ms;
        }
}

/* Sequence numbers are fixed by the state, so that a resume finds them again. */
static void send_states(struct bh_call *call, const struct bh_execution *record,
                        enum bh_execution_state after, enum bh_execution_state upto)
{
        for (int state = (int)after; state <= (int)upto && state < BH_EXECUTION_ENDED; state++) {
                char at[BH_TIME_TEXT_SIZE];
                int64_t ms = entered_ms(record, (enum bh_execution_state)state);
                if (ms == 0)
                        continue;
                bh_time_format(ms, at);
                bh_call_event_take(
                        call,
                        json_pack("{sssissss}", "event", "state", "sequence", state + 1, "state",
                                  bh_execution_state_name((enum bh_execution_state)state), "at",
                                  at),
                        false);
        }
}

static void send_output(struct bh_call *call, int64_t kept_out, int64_t kept_err)
{
        bh_call_event_take(call,
                           json_pack("{sssIsI}", "event", "output", "stdout", (json_int_t)kept_out,
                                     "stderr", (json_int_t)kept_err),
                           false);
}

static void send_ended(struct bh_call *call, const struct bh_execution *record)
{
        bh_call_event_take(call,
                           json_pack("{sssiso}", "event", "ended", "sequence",
                                     BH_EXECUTION_ENDED + 1, "execution",
                                     bh_execution_encode(record)),
                           true);
}

void bh_execution_replay(struct bh_call *call, const struct bh_execution *record, int64_t kept_out,
                         int64_t kept_err)
{
        send_states(call, record, BH_EXECUTION_QUEUED, record->state);
        if (kept_out > 0 || kept_err > 0)
                send_output(call, kept_out, kept_err);
        if (record->state == BH_EXECUTION_ENDED)
                send_ended(call, record);
}

/* The reply and all that is past. The descriptors can only come with the reply, so it waits for
 * the files to be made; what ended without any is answered without. */
static bool begin_watch(struct bh_waiter *waiter)
{
        struct bh_live *live = waiter->live;
        struct bh_call *call = waiter->call;
        json_t *body = bh_execution_show(live->daemon, call, live->record);
        if (call->reply_fd_count == 0 && live->record->state != BH_EXECUTION_ENDED) {
                json_decref(body);
                return false;
        }
        if (live->record->state != BH_EXECUTION_ENDED) {
                live->kept_out = live->record->out.bytes;
                live->kept_err = live->record->err.bytes;
        }
        waiter->begun = true;
        waiter->told = live->record->state;
        call->streaming = true;
        bh_call_reply_take(call, 200, body);
        bh_execution_replay(call, live->record, live->kept_out, live->kept_err);
        return true;
}

void bh_live_watch(struct bh_live *live, struct bh_call *call)
{
        struct bh_waiter *waiter = bh_alloc(sizeof(*waiter));
        waiter->live = live;
        waiter->call = call;
        if (LIST_EMPTY(&live->watchers) && live->shim)
                bh_shim_watch(live->shim, true);
        LIST_INSERT_HEAD(&live->watchers, waiter, entry);
        bh_call_hold(call, on_watcher_gone, waiter);
        begin_watch(waiter);
        if (live->record->state == BH_EXECUTION_ENDED) {
                call->on_gone = NULL;
                waiter_free(waiter);
        }
}

void bh_watch_states(struct bh_live *live)
{
        struct bh_waiter *waiter = NULL;
        LIST_FOREACH (waiter, &live->watchers, entry) {
                if (!waiter->begun) {
                        begin_watch(waiter);
                        continue;
                }
                send_states(waiter->call, live->record, (enum bh_execution_state)(waiter->told + 1),
                            live->record->state);
                waiter->told = live->record->state;
        }
}

void bh_watch_output(struct bh_live *live)
{
        struct bh_waiter *waiter = NULL;
        LIST_FOREACH (waiter, &live->watchers, entry)
                if (waiter->begun)
                        send_output(waiter->call, live->kept_out, live->kept_err);
}

static void end_watch(struct bh_waiter *waiter)
{
        struct bh_live *live = waiter->live;
        struct bh_call *call = waiter->call;
        if (!waiter->begun) {
                begin_watch(waiter); /* tells all, the end included */
        } else {
                /* States that passed since, such as running of one that ended at once. */
                send_states(call, live->record, (enum bh_execution_state)(waiter->told + 1),
                            BH_EXECUTION_RUNNING);
                send_output(call, live->kept_out, live->kept_err);
                send_ended(call, live->record);
        }
        call->on_gone = NULL;
        waiter_free(waiter);
}

void bh_watch_ended(struct bh_live *live)
{
        struct bh_waiter *waiter = LIST_FIRST(&live->watchers), *next = NULL;
        answer_all(live);
        for (; waiter; waiter = next) {
                next = LIST_NEXT(waiter, entry);
                end_watch(waiter);
        }
}

void bh_watch_refuse(struct bh_live *live, const struct bh_error *error)
{
        struct bh_waiter *waiter = LIST_FIRST(&live->waiters), *next = NULL;
        for (; waiter; waiter = next) {
                struct bh_call *call = waiter->call;
                next = LIST_NEXT(waiter, entry);
                waiter_free(waiter);
                bh_call_fail(call, error);
        }
}

/* Those whose execution has no files yet; others have their reply. */
static void refuse_unbegun(struct bh_live *live, const struct bh_error *error)
{
        struct bh_waiter *waiter = LIST_FIRST(&live->watchers), *next = NULL;
        for (; waiter; waiter = next) {
                struct bh_call *call = waiter->call;
                next = LIST_NEXT(waiter, entry);
                if (waiter->begun)
                        continue;
                waiter_free(waiter);
                bh_call_fail(call, error);
        }
}

void bh_executions_answer_waiters(struct bh_daemon *daemon)
{
        struct bh_live *live = NULL;
        struct bh_error error;
        (void)bh_error_refused(&error, "draining", "", "the broker is stopping");
        TAILQ_FOREACH (live, &daemon->executions.all, order) {
                answer_all(live);
                refuse_unbegun(live, &error);
        }
}

static void drop_list(struct bh_waiter_list *list)
{
        struct bh_waiter *waiter = LIST_FIRST(list), *next = NULL;
        for (; waiter; waiter = next) {
                next = LIST_NEXT(waiter, entry);
                waiter->call->on_gone = NULL;
                waiter_free(waiter);
        }
}

void bh_watch_drop_all(struct bh_live *live)
{
        drop_list(&live->waiters);
        drop_list(&live->watchers);
}
