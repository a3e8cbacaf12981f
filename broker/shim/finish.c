/* From the workload's end to a delivered result; see run.h. */
#include <errno.h>
#include <poll.h>

#include "base/clock.h"
#include "base/log.h"
#include "broker/shim/result.h"
#include "broker/shim/run.h"

/* poll(2) for at most until_us; true while there is time left. */
static bool poll_until(struct pollfd *slots, nfds_t count, int64_t until_us)
{
        int64_t left_us = until_us - bh_monotonic_us();

        if (left_us <= 0)
                return false;
        if (poll(slots, count, (int)((left_us + 999) / 1000)) < 0) {
                for (nfds_t i = 0; i < count; i++)
                        slots[i].revents = 0;
        }
        return true;
}

/* Nobody is left who could write, so both ends are near; the bound is for the case that somebody
 * is, against everything that we know. */
static void drain(struct bh_run *run)
{
        int64_t until_us = bh_monotonic_us() + run->settings->drain_us;
        struct pollfd news;
        bool done;

        if (!run->pump)
                return; /* the workload did not run */
        bh_pump_end_input(run->pump);
        news = (struct pollfd){.fd = bh_pump_news_fd(run->pump), .events = POLLIN};
        do {
                done = bh_pump_look(run->pump, &run->out, &run->err);
        } while (!done && poll_until(&news, 1, until_us));
        if (!done)
                bh_verdict_note(&run->verdict, "output may be incomplete");
}

static void tear_down(struct bh_run *run)
{
        struct bh_error error;

        if (!run->driver)
                return;
        run->driver->release(run->boundary);
        run->boundary = NULL;
        if (run->driver->destroy(&run->order->host, run->order->instance.id, &error) < 0) {
                bh_log_error("destroy", run->order->instance.id, &error);
                bh_verdict_note(&run->verdict, "the boundary is not fully removed: %s",
                                error.message);
        }
}

static void read_usage(struct bh_run *run, struct bh_usage *ret)
{
        struct bh_error error;

        if (run->boundary && run->driver->usage(run->boundary, ret, &error) < 0)
                bh_log_error("usage", run->order->instance.id, &error);
}

void bh_run_finish(struct bh_run *run)
{
        struct bh_result result = {.out = &run->out, .err = &run->err};
        int64_t end_us;

        run->gone_us = bh_monotonic_us();
        read_usage(run, &result.usage);
        bh_verdict_settle(&run->verdict, run->has_end ? &run->end : NULL, &result.usage,
                          &run->order->plan->limits);
        tear_down(run);
        drain(run);
        end_us = bh_monotonic_us();

        result.verdict = run->verdict;
        result.provision_us = (run->started_ms ? run->started_us : run->gone_us) - run->ordered_us;
        result.run_us = run->started_ms ? run->gone_us - run->started_us : 0;
        result.teardown_us = end_us - run->gone_us;
        result.started_ms = run->started_ms;
        result.ended_ms = bh_realtime_ms();
        result.evidence = run->evidence;
        bh_result_note_losses(&result);
        run->result = bh_result_encode(&result);
        bh_run_enter(run, BH_RUN_ENDED);
        bh_control_send_take(&run->control, json_incref(run->result));
}

/* ---- Delivery ---- */

static bool is_disk_full(const struct bh_error *error)
{
        return error->errnum == ENOSPC || error->errnum == EDQUOT;
}

/* Looks after the channel until something is said or the time is over. */
static void await_broker(struct bh_run *run, int64_t until_us)
{
        struct pollfd slot = bh_control_pollfd(&run->control);

        (void)poll_until(&slot, 1, until_us);
        if (slot.revents & POLLOUT)
                bh_control_flush(&run->control);
        if (slot.revents)
                bh_run_obey(run);
}

/* The file first, then the socket: a broker that comes in between finds one of them. A full disk
 * is waited out, with control.sock open. */
static int store(struct bh_run *run)
{
        struct bh_error error;

        while (!run->taken) {
                if (bh_control_has_broker(&run->control)) {
                        await_broker(run, bh_monotonic_us() + run->settings->taken_us);
                        continue;
                }
                if (bh_result_store(run->directory_fd, run->result, &error) == 0)
                        return 0;
                bh_log_error("store", run->order->instance.id, &error);
                if (!is_disk_full(&error))
                        return -1;
                await_broker(run, bh_monotonic_us() + run->settings->retry_us);
        }
        return 0;
}

int bh_run_deliver(struct bh_run *run)
{
        int64_t until_us = bh_monotonic_us() + run->settings->taken_us;

        while (!run->taken && bh_control_has_broker(&run->control) && bh_monotonic_us() < until_us)
                await_broker(run, until_us);
        if (run->taken)
                return 0;
        if (run->directory_fd < 0)
                return 0; /* never told to go: to the broker it never was, or is lost */
        bh_control_cut_off(&run->control);
        return store(run);
}
