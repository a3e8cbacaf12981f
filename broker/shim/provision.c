/* From the start order to the workload's first instruction; see run.h. */
#include <poll.h>
#include <string.h>

#include "base/clock.h"
#include "base/fd.h"
#include "broker/shim/run.h"
#include "broker/shim/watchdog.h"

/* The workload's ends of its pipes. */
struct ends {
        int in, out, err;
};

static void close_ends(struct ends *ends)
{
        ends->in = bh_close(ends->in);
        ends->out = bh_close(ends->out);
        ends->err = bh_close(ends->err);
}

static int open_pipes(struct bh_run *run, struct ends *ends, struct bh_error *error)
{
        const struct bh_start_order *order = run->order;
        int64_t limit = order->plan->limits.value[BH_LIMIT_OUTPUT_BYTES];

        if (bh_capture_open(&run->out, limit, &ends->out, error) < 0 ||
            bh_capture_open(&run->err, limit, &ends->err, error) < 0)
                return bh_error_control(error, "limit.output");
        return bh_stdin_feed_open(&run->in, order->payload_fd, order->stdin_offset,
                                  order->stdin_length, &ends->in, error);
}

static int require_gateway(struct bh_run *run, struct bh_error *error)
{
        if (run->gateway_fd < 0)
                run->gateway_fd = run->settings->gateway_make(error);
        return run->gateway_fd < 0 ? bh_error_control(error, "gateway.deny_all") : 0;
}

static int build(struct bh_run *run, const struct ends *ends, struct bh_error *error)
{
        struct bh_start_order *order = run->order;

        order->instance.stdin_fd = ends->in;
        order->instance.stdout_fd = ends->out;
        order->instance.stderr_fd = ends->err;
        order->instance.gateway_fd = run->gateway_fd;
        order->instance.fault = run->settings->fault;
        return run->driver->prepare(&order->host, order->plan, &order->instance, &run->boundary,
                                    error);
}

/* Sets the limits that the shim enforces itself. Each is seen by what enforces it: the deadline
 * that will fire, the accounting that will be read, the capture that will stop. */
static int arm_limits(struct bh_run *run, struct bh_error *error)
{
        static const char *const names[] = {"limit.wall", "limit.cpu", "limit.output"};
        const struct bh_limits *limits = &run->order->plan->limits;
        int64_t now_us = bh_monotonic_us();
        json_t *evidence[3];
        struct bh_usage usage;

        if (run->driver->usage(run->boundary, &usage, error) < 0)
                return bh_error_control(error, "limit.cpu");
        run->deadline = bh_deadline_from(limits, run->settings->online_cpus, now_us);
        evidence[0] = json_pack("{s:I}", "wall_ms",
                                (json_int_t)((run->deadline.wall_at_us - now_us) / 1000));
        evidence[1] =
                json_pack("{s:I, s:I}", "cpu_ms", (json_int_t)(run->deadline.cpu_limit_us / 1000),
                          "used_us", (json_int_t)usage.cpu_us);
        evidence[2] = json_pack("{s:I, s:I}", "stdout_bytes", (json_int_t)run->out.limit,
                                "stderr_bytes", (json_int_t)run->err.limit);
        for (size_t i = 0; i < 3; i++)
                json_object_set_new(run->evidence, names[i],
                                    json_pack("{s:o, s:s, s:b}", "observed", evidence[i], "source",
                                              "bulkhead-shim", "holds", 1));
#ifdef BULKHEAD_FAULTS
        for (size_t i = 0; i < 3 && run->settings->fault; i++) {
                if (strcmp(run->settings->fault, names[i]) == 0) {
                        bh_error_set(error, BH_ERROR_INTERNAL, "fault injected");
                        return bh_error_control(error, names[i]);
                }
        }
#endif
        return 0;
}

/* Every control of the plan was seen to hold on the boundary, or the workload does not start. */
static int check_evidence(const struct bh_run *run, struct bh_error *error)
{
        const struct bh_plan *plan = run->order->plan;

        for (size_t i = 0; i < plan->control_count; i++) {
                const json_t *seen = json_object_get(run->evidence, plan->controls[i]);

                if (json_is_true(json_object_get(seen, "holds")))
                        continue;
                bh_error_set(error, BH_ERROR_INTERNAL, "it was not seen to hold on the boundary");
                return bh_error_control(error, plan->controls[i]);
        }
        return 0;
}

/* The slots that may hang, under the watchdog. 1: what was built has ended already. */
static int raise_boundary(struct bh_run *run, const struct ends *ends, struct bh_error *error)
{
        int result;

        if (bh_watchdog_arm(run->settings->provision_us, error) < 0)
                return -1;
        result = build(run, ends, error);
        if (result == 0)
                result = run->driver->observe(run->boundary, &run->evidence, error);
        if (bh_watchdog_disarm()) {
                if (result >= 0)
                        bh_error_set(error, BH_ERROR_INTERNAL, "its processes were killed");
                return bh_error_prefix(error, "not ready within %lld ms",
                                       (long long)(run->settings->provision_us / 1000));
        }
        if (result > 0)
                run->has_end = run->driver->wait(run->boundary, &run->end, error) > 0;
        if (result != 0)
                return result;
        if (arm_limits(run, error) < 0)
                return -1;
        return check_evidence(run, error);
}

/* The driver forks no more. */
static int start_pump(struct bh_run *run, struct bh_error *error)
{
        struct bh_pump_streams streams = {.out = run->out,
                                          .err = run->err,
                                          .in = run->in,
                                          .buffer = run->settings->buffer,
                                          .buffer_size = run->settings->buffer_size};

        if (!run->idle_pump && bh_pump_new(&run->idle_pump, error) < 0)
                return bh_error_control(error, "limit.output");
        run->pump = bh_steal_ptr(&run->idle_pump);
        bh_pump_start(run->pump, &streams);
        run->out = streams.out;
        run->err = streams.err;
        run->in = streams.in;
        bh_pump_tell_news(run->pump, run->watch.on);
        return 0;
}

static int start(struct bh_run *run, struct bh_error *error)
{
        if (start_pump(run, error) < 0)
                return -1;
        run->started_us = bh_monotonic_us();
        if (run->driver->start(run->boundary, error) < 0)
                return -1;
        run->deadline = bh_deadline_from(&run->order->plan->limits, run->settings->online_cpus,
                                         run->started_us);
        run->started_ms = bh_realtime_ms();
        return 0;
}

static bool is_called_off(struct bh_run *run)
{
        bh_run_obey(run);
        return run->verdict.outcome != BH_OUTCOME_NONE;
}

/* The workload waits until the broker has the execution on disk. false: it is not to start. */
static bool await_go(struct bh_run *run)
{
        while (!is_called_off(run) && run->directory_fd < 0) {
                struct pollfd slots[2] = {bh_control_pollfd(&run->control),
                                          {.fd = run->settings->stop_fd, .events = POLLIN}};

                if (!bh_control_has_broker(&run->control))
                        bh_verdict_claim(&run->verdict, BH_OUTCOME_LOST,
                                         "the broker ended before it let it start");
                else if (poll(slots, 2, -1) > 0 && (slots[0].revents & POLLOUT))
                        bh_control_flush(&run->control);
        }
        return run->verdict.outcome == BH_OUTCOME_NONE;
}

static int provision(struct bh_run *run, struct ends *ends, struct bh_error *error)
{
        const char *name = run->order->plan->driver;
        int result;

        run->driver = run->settings->driver_by_name(name);
        if (!run->driver)
                return bh_error_set(error, BH_ERROR_UNAVAILABLE, "there is no driver %s", name);
        if (is_called_off(run))
                return 0;
        if (open_pipes(run, ends, error) < 0 || require_gateway(run, error) < 0)
                return -1;
        result = raise_boundary(run, ends, error);
        if (result != 0)
                return result;
        if (!await_go(run))
                return 0;
        bh_capture_keep_take(&run->out, bh_steal_fd(&run->out_fd));
        bh_capture_keep_take(&run->err, bh_steal_fd(&run->err_fd));
        return start(run, error);
}

void bh_run_provision(struct bh_run *run)
{
        struct ends ends = {-1, -1, -1};
        struct bh_error error = {.code = BH_ERROR_NONE};

        run->ordered_us = bh_monotonic_us();
        bh_run_enter(run, BH_RUN_PROVISIONING);
        if (provision(run, &ends, &error) < 0)
                bh_verdict_claim_failure(&run->verdict, &error);
        /* From here the end of the workload's processes is the end of the pipes. */
        close_ends(&ends);
        run->gateway_fd = bh_close(run->gateway_fd);
        run->order->workspace_fd = bh_close(run->order->workspace_fd);
        bh_start_order_drop_mounts(run->order);
        if (run->started_ms)
                bh_run_enter(run, BH_RUN_RUNNING);
}
