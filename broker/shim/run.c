/* The event loop of one execution; see run.h. poll(2), nothing blocks but the driver's own slots;
 * what the workload could make block is in pump.c's thread. */
#include "broker/shim/run.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "drivers/kernel/gateway.h"

static const char *const STATES[] = {
        [BH_RUN_PROVISIONING] = "provisioning",
        [BH_RUN_RUNNING] = "running",
        [BH_RUN_ENDED] = "ended",
};

void bh_run_enter(struct bh_run *run, enum bh_run_state state)
{
        run->state = state;
        run->state_at_ms = bh_realtime_ms();
        if (state == BH_RUN_ENDED)
                return; /* the result says it */
        bh_control_send_take(&run->control,
                             json_pack("{s:s, s:s, s:I}", "type", "state", "state", STATES[state],
                                       "at_ms", (json_int_t)run->state_at_ms));
}

/* ---- What the broker says ---- */

static void send_status(struct bh_run *run)
{
        json_t *started = run->started_ms ? json_integer(run->started_ms) : json_null();

        bh_control_send_take(&run->control,
                             json_pack("{s:s, s:s, s:I, s:o}", "type", "status", "state",
                                       STATES[run->state], "at_ms", (json_int_t)run->state_at_ms,
                                       "started_ms", started));
        if (run->result)
                bh_control_send_take(&run->control, json_incref(run->result));
}

/* A broker that is not to be understood cannot be obeyed: what it started is ended. */
static void violation(struct bh_run *run, const char *problem)
{
        if (run->state != BH_RUN_ENDED)
                bh_verdict_claim(&run->verdict, BH_OUTCOME_KILLED,
                                 "the broker broke the protocol: %s", problem);
}

static void switch_watch(struct bh_run *run, bool on)
{
        bh_watch_switch(&run->watch, on);
        if (run->pump)
                bh_pump_tell_news(run->pump, on);
}

/* Also after a boundary that failed first: its result may have to be stored there. */
static void take_files(struct bh_run *run, const struct bh_command *command)
{
        if (run->directory_fd >= 0) {
                bh_close(command->directory_fd);
                bh_close(command->out_fd);
                bh_close(command->err_fd);
                bh_control_cut_off(&run->control);
                violation(run, "it said go twice");
                return;
        }
        run->directory_fd = run->control.directory = command->directory_fd;
        run->out_fd = command->out_fd;
        run->err_fd = command->err_fd;
}

static void carry_out(struct bh_run *run, const struct bh_command *command)
{
        switch (command->type) {
        case BH_COMMAND_WATCH:
                switch_watch(run, command->on);
                break;
        case BH_COMMAND_KILL:
                if (run->state != BH_RUN_ENDED)
                        bh_verdict_claim(&run->verdict, command->outcome, "%s", command->detail);
                break;
        case BH_COMMAND_GO:
                take_files(run, command);
                break;
        case BH_COMMAND_ADOPT:
                switch_watch(run, false);
                send_status(run);
                break;
        case BH_COMMAND_TAKEN:
                if (run->result) {
                        run->taken = true;
                } else {
                        bh_control_cut_off(&run->control);
                        violation(run, "a result was taken before there was one");
                }
                break;
        }
}

void bh_run_obey(struct bh_run *run)
{
        struct pollfd stop = {.fd = run->settings->stop_fd, .events = POLLIN};
        struct bh_error error;
        struct bh_command command;
        int result;

        if (run->state != BH_RUN_ENDED && poll(&stop, 1, 0) > 0)
                bh_verdict_claim(&run->verdict, BH_OUTCOME_KILLED, "the shim was told to stop");
        while (!run->taken) {
                result = bh_control_next(&run->control, &command, &error);
                if (result == 0)
                        return;
                if (result > 0) {
                        carry_out(run, &command);
                        continue;
                }
                bh_log_error("control", run->order->instance.id, &error);
                if (error.code != BH_ERROR_PROTOCOL)
                        return;
                violation(run, error.message);
        }
}

/* ---- The workload's end ---- */

static void check_end(struct bh_run *run)
{
        struct bh_error error;
        int result = run->driver->wait(run->boundary, &run->end, &error);

        if (result == 0)
                return;
        run->gone = true;
        run->has_end = result > 0;
        if (result < 0)
                bh_verdict_claim(&run->verdict, BH_OUTCOME_LOST, "%s", error.message);
}

static void kill_boundary(struct bh_run *run)
{
        struct bh_error error;

        run->killed = true;
        run->give_up_at_us = bh_monotonic_us() + run->settings->kill_us;
        if (run->driver->kill(run->boundary, &error) < 0) {
                bh_log_error("kill", run->order->instance.id, &error);
                run->gone = true; /* destroy() has other means */
        }
}

static void check_cpu(struct bh_run *run, int64_t now_us)
{
        struct bh_usage usage;
        struct bh_error error;

        if (run->driver->usage(run->boundary, &usage, &error) < 0) {
                bh_error_control(&error, "limit.cpu");
                bh_verdict_claim_failure(&run->verdict, &error);
        } else if (bh_deadline_cpu_reached(&run->deadline, usage.cpu_us, now_us)) {
                bh_verdict_claim(&run->verdict, BH_OUTCOME_CPU_LIMIT,
                                 "cpu_ms limit of %" PRId64 " reached",
                                 run->order->plan->limits.value[BH_LIMIT_CPU_MS]);
        }
}

/* After everything else that happened in this turn: a program that ended in time has. */
static void check_deadlines(struct bh_run *run)
{
        int64_t now_us = bh_monotonic_us();

        if (run->killed) {
                run->gone = now_us >= run->give_up_at_us;
                return;
        }
        if (bh_deadline_wall_reached(&run->deadline, now_us))
                bh_verdict_claim(&run->verdict, BH_OUTCOME_TIMEOUT,
                                 "wall_ms limit of %" PRId64 " reached",
                                 run->order->plan->limits.value[BH_LIMIT_WALL_MS]);
        else if (bh_deadline_cpu_due(&run->deadline, now_us))
                check_cpu(run, now_us);
        if (run->verdict.outcome != BH_OUTCOME_NONE)
                kill_boundary(run);
}

/* ---- The loop ---- */

enum { SLOT_EVENT, SLOT_NEWS, SLOT_CONTROL, SLOT_STOP, SLOT_COUNT };

static int64_t earlier(int64_t a, int64_t b)
{
        return a < b ? a : b;
}

static int64_t next_wake_us(const struct bh_run *run)
{
        int64_t next = run->killed ? run->give_up_at_us : bh_deadline_next_us(&run->deadline);

        if (bh_watch_grew(&run->watch, run->out.kept, run->err.kept))
                next = earlier(next, run->watch.not_before_us);
        return next;
}

static void poll_slots(const struct bh_run *run, struct pollfd slots[SLOT_COUNT])
{
        int64_t left_us = next_wake_us(run) - bh_monotonic_us();
        struct timespec timeout = {.tv_sec = 0};

        if (left_us > 0) {
                timeout.tv_sec = left_us / 1000000;
                timeout.tv_nsec = left_us % 1000000 * 1000;
        }
        slots[SLOT_EVENT] = (struct pollfd){.fd = run->boundary->event_fd, .events = POLLIN};
        slots[SLOT_NEWS] = (struct pollfd){.fd = bh_pump_news_fd(run->pump), .events = POLLIN};
        slots[SLOT_CONTROL] = bh_control_pollfd(&run->control);
        /* Once told to stop it stays readable. */
        slots[SLOT_STOP] =
                (struct pollfd){.fd = run->killed ? -1 : run->settings->stop_fd, .events = POLLIN};
        if (ppoll(slots, SLOT_COUNT, &timeout, NULL) < 0) {
                for (int i = 0; i < SLOT_COUNT; i++)
                        slots[i].revents = 0; /* a signal; deadlines are looked at all the same */
        }
}

static void tell_output(struct bh_run *run)
{
        if (bh_watch_tell(&run->watch, run->out.kept, run->err.kept, bh_monotonic_us()))
                bh_control_send_take(&run->control, json_pack("{s:s, s:I, s:I}", "type", "output",
                                                              "stdout", (json_int_t)run->out.kept,
                                                              "stderr", (json_int_t)run->err.kept));
}

static void turn(struct bh_run *run)
{
        struct pollfd slots[SLOT_COUNT];

        poll_slots(run, slots);
        if (slots[SLOT_EVENT].revents) {
                check_end(run);
                if (run->gone)
                        return;
        }
        if (slots[SLOT_CONTROL].revents & POLLOUT)
                bh_control_flush(&run->control);
        if (slots[SLOT_CONTROL].revents || slots[SLOT_STOP].revents)
                bh_run_obey(run);
        check_deadlines(run);
        (void)bh_pump_look(run->pump, &run->out, &run->err);
        tell_output(run);
}

/* 1: run->order is filled, 0: the broker is gone or wants nothing, -1. */
static int await_order(struct bh_run *run, struct bh_error *error)
{
        for (;;) {
                struct bh_frame frame;
                struct pollfd slots[2] = {bh_control_pollfd(&run->control),
                                          {.fd = run->settings->stop_fd, .events = POLLIN}};
                int result = bh_control_receive(&run->control, &frame, error);

                if (result < 0)
                        return error->code == BH_ERROR_CLOSED ? 0 : -1;
                if (result > 0) {
                        result = bh_start_order_decode(&frame, &run->order, error);
                        bh_frame_clear(&frame);
                        return result < 0 ? -1 : 1;
                }
                if (poll(slots, 2, -1) < 0 && errno != EINTR)
                        return bh_error_errno(error, errno, "wait for a start order");
                if (slots[1].revents)
                        return 0;
        }
}

/* What can be done before it is known what for. What fails now is tried again then, but for a
 * gateway that left this process in a network namespace that is not its own. */
static int spare_work(struct bh_run *run, struct bh_error *error)
{
        if (bh_cgroup_topology_read(&run->cgroups, error) < 0)
                bh_log_error("cgroups", NULL, error);
        if (bh_pump_new(&run->idle_pump, error) < 0)
                bh_log_error("pump", NULL, error);
        run->gateway_fd = run->settings->gateway_make(error);
        if (run->gateway_fd >= 0)
                return 0;
        if (strcmp(error->reason, BH_GATEWAY_LOST) == 0)
                return -1;
        bh_log_error("gateway", NULL, error);
        return 0;
}

static int carry_out_order(struct bh_run *run)
{
        if (run->cgroups.count > 0)
                run->order->host.cgroups = &run->cgroups;
        bh_run_provision(run);
        while (run->started_ms && !run->gone)
                turn(run);
        bh_run_finish(run);
        return bh_run_deliver(run);
}

static void release(struct bh_run *run)
{
        bh_control_close(&run->control);
        bh_pump_free(run->pump);
        bh_pump_free(run->idle_pump);
        bh_capture_close(&run->out);
        bh_capture_close(&run->err);
        bh_stdin_feed_close(&run->in);
        bh_close(run->gateway_fd);
        bh_close(run->directory_fd);
        bh_close(run->out_fd);
        bh_close(run->err_fd);
        bh_start_order_free(run->order);
        json_decref(run->evidence);
        json_decref(run->result);
        bh_cgroup_topology_clear(&run->cgroups);
}

int bh_shim_run(const struct bh_shim_settings *settings, int channel_fd)
{
        struct bh_error error = {.code = BH_ERROR_NONE};
        struct bh_run run = {.settings = settings,
                             .gateway_fd = -1,
                             .directory_fd = -1,
                             .out_fd = -1,
                             .err_fd = -1,
                             .out = BH_CAPTURE_NONE,
                             .err = BH_CAPTURE_NONE,
                             .in = BH_STDIN_FEED_NONE};
        int result = bh_control_open_take(&run.control, channel_fd, &error);

        if (result == 0)
                result = spare_work(&run, &error);
        if (result == 0)
                result = await_order(&run, &error);
        if (result > 0)
                result = carry_out_order(&run);
        else if (result < 0)
                bh_log_error("start", NULL, &error);
        release(&run);
        return result == 0 ? 0 : 1;
}
