/* The record of one execution. */
#include "broker/daemon/execution.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"

static const char *const state_names[] = {"queued", "provisioning", "running", "ended", NULL};
static const char *const outcome_names[] = {
        "exited", "signaled", "timeout", "cpu_limit",       "oom",
        "killed", "retiered", "lost",    "boundary_failed", NULL};

static int find(const char *const names[], const char *name)
{
        for (int i = 0; names[i]; i++)
                if (strcmp(names[i], name) == 0)
                        return i;
        return -1;
}

const char *bh_execution_state_name(enum bh_execution_state state)
{
        return state_names[state];
}

int bh_execution_state_by_name(const char *name)
{
        return find(state_names, name);
}

bool bh_outcome_valid(const char *outcome)
{
        return find(outcome_names, outcome) >= 0;
}

void bh_execution_free(struct bh_execution *execution)
{
        if (!execution)
                return;
        free(execution->tenant);
        free(execution->agent);
        free(execution->driver);
        free(execution->technology);
        free(execution->workspace);
        free(execution->outcome);
        free(execution->signal);
        free(execution->detail);
        json_decref(execution->labels);
        json_decref(execution->usage);
        json_decref(execution->timing);
        json_decref(execution->evidence);
        free(execution);
}

static json_t *encode_time(int64_t at_ms)
{
        char text[BH_TIME_TEXT_SIZE];
        if (at_ms == 0)
                return json_null();
        bh_time_format(at_ms, text);
        return json_string(text);
}

static json_t *encode_stream(const struct bh_stream_count *count)
{
        return json_pack("{sIsbsI}", "bytes", (json_int_t)count->bytes, "truncated",
                         count->dropped > 0, "dropped_bytes", (json_int_t)count->dropped);
}

static json_int_t timing_member(const struct bh_execution *execution, const char *name)
{
        return json_integer_value(json_object_get(execution->timing, name));
}

static json_t *encode_timing(const struct bh_execution *execution)
{
        int64_t until = execution->provisioning_ms ? execution->provisioning_ms
                        : execution->ended_ms      ? execution->ended_ms
                                                   : bh_realtime_ms();
        int64_t queued = until > execution->created_ms ? until - execution->created_ms : 0;
        return json_pack("{sIsIsIsI}", "queued_ms", (json_int_t)queued, "provision_ms",
                         timing_member(execution, "provision_ms"), "run_ms",
                         timing_member(execution, "run_ms"), "teardown_ms",
                         timing_member(execution, "teardown_ms"));
}

static json_t *encode_usage(const struct bh_execution *execution)
{
        if (execution->usage)
                return json_incref(execution->usage);
        return json_pack("{sisisisi}", "wall_ms", 0, "cpu_ms", 0, "memory_peak_bytes", 0,
                         "oom_kills", 0);
}

json_t *bh_execution_encode(const struct bh_execution *execution)
{
        json_t *json = json_pack(
                "{ss ss ss ss s{ssssssss} sI ss ss ss? so ss? ss so so so so so so so sO}",
                "execution", execution->id, "agent", execution->agent, "tenant", execution->tenant,
                "state", bh_execution_state_name(execution->state), "tier", "required",
                bh_tier_name(execution->required), "effective", bh_tier_name(execution->effective),
                "driver", execution->driver, "technology", execution->technology,
                "capability_generation", (json_int_t)execution->generation, "policy_digest",
                execution->policy_digest, "plan_digest", execution->plan_digest, "outcome",
                execution->outcome, "exit_code",
                execution->has_exit_code ? json_integer(execution->exit_code) : json_null(),
                "signal", execution->signal, "detail", execution->detail ? execution->detail : "",
                "stdout", encode_stream(&execution->out), "stderr", encode_stream(&execution->err),
                "usage", encode_usage(execution), "timing", encode_timing(execution), "created_at",
                encode_time(execution->created_ms), "started_at",
                encode_time(execution->started_ms), "ended_at", encode_time(execution->ended_ms),
                "labels", execution->labels);
        if (!json)
                bh_alloc_failed();
        json_object_set_new(json, "workspace",
                            execution->workspace ? json_string(execution->workspace) : json_null());
        return json;
}

static int decode_counts(const struct bh_json_at *at, const char *const members[], json_t **slot,
                         struct bh_error *error)
{
        if (bh_json_object(at, members, error) < 0)
                return -1;
        for (int i = 0; members[i]; i++) {
                struct bh_json_at member;
                int64_t value = 0;
                if (bh_json_require(at, members[i], &member, error) < 0 ||
                    bh_json_integer(&member, 0, INT64_MAX, &value, error) < 0)
                        return -1;
        }
        json_decref(*slot);
        *slot = json_deep_copy(at->value);
        return 0;
}

static int decode_stream(const struct bh_json_at *at, struct bh_stream_count *count,
                         struct bh_error *error)
{
        static const char *const members[] = {"bytes", "dropped_bytes", NULL};
        struct bh_json_at bytes, dropped;
        if (bh_json_object(at, members, error) < 0 ||
            bh_json_require(at, "bytes", &bytes, error) < 0 ||
            bh_json_require(at, "dropped_bytes", &dropped, error) < 0 ||
            bh_json_integer(&bytes, 0, INT64_MAX, &count->bytes, error) < 0 ||
            bh_json_integer(&dropped, 0, count->bytes, &count->dropped, error) < 0)
                return -1;
        return 0;
}

static int decode_end(const struct bh_json_at *at, struct bh_execution *execution,
                      struct bh_error *error)
{
        struct bh_json_at outcome, code, signal, detail;
        const char *outcome_text = NULL, *signal_text = NULL, *detail_text = NULL;
        if (bh_json_require(at, "outcome", &outcome, error) < 0 ||
            bh_json_string(&outcome, 1, 32, &outcome_text, error) < 0 ||
            bh_json_require(at, "exit_code", &code, error) < 0 ||
            bh_json_require(at, "signal", &signal, error) < 0 ||
            bh_json_require(at, "detail", &detail, error) < 0 ||
            bh_json_string(&detail, 0, 65536, &detail_text, error) < 0)
                return -1;
        if (!bh_outcome_valid(outcome_text))
                return bh_json_fail(&outcome, error, "unknown outcome");
        if (!json_is_null(code.value) &&
            bh_json_integer(&code, 0, 255, &execution->exit_code, error) < 0)
                return -1;
        if (!json_is_null(signal.value) && bh_json_string(&signal, 1, 16, &signal_text, error) < 0)
                return -1;
        execution->has_exit_code = !json_is_null(code.value);
        free(execution->outcome);
        free(execution->signal);
        free(execution->detail);
        execution->outcome = bh_strdup(outcome_text);
        execution->signal = signal_text ? bh_strdup(signal_text) : NULL;
        execution->detail = bh_strdup(detail_text);
        return 0;
}

static int decode_times(const struct bh_json_at *at, struct bh_execution *execution,
                        struct bh_error *error)
{
        struct bh_json_at started, ended;
        if (bh_json_require(at, "started_ms", &started, error) < 0 ||
            bh_json_require(at, "ended_ms", &ended, error) < 0 ||
            bh_json_integer(&ended, 0, INT64_MAX, &execution->ended_ms, error) < 0)
                return -1;
        if (!json_is_null(started.value))
                return bh_json_integer(&started, 0, INT64_MAX, &execution->started_ms, error);
        return 0;
}

int bh_execution_apply_result(struct bh_execution *execution, const json_t *result,
                              struct bh_error *error)
{
        static const char *const members[] = {
                "type",       "outcome",  "exit_code", "signal", "detail",   "usage", "timing",
                "started_ms", "ended_ms", "stdout",    "stderr", "evidence", NULL};
        static const char *const usage_members[] = {"wall_ms", "cpu_ms", "memory_peak_bytes",
                                                    "oom_kills", NULL};
        static const char *const timing_members[] = {"provision_ms", "run_ms", "teardown_ms", NULL};
        struct bh_json_at root = BH_JSON_ROOT(result), usage, timing, out, err, evidence;
        if (bh_json_object(&root, members, error) < 0 ||
            bh_json_require(&root, "usage", &usage, error) < 0 ||
            bh_json_require(&root, "timing", &timing, error) < 0 ||
            bh_json_require(&root, "stdout", &out, error) < 0 ||
            bh_json_require(&root, "stderr", &err, error) < 0 ||
            bh_json_require(&root, "evidence", &evidence, error) < 0 ||
            decode_counts(&usage, usage_members, &execution->usage, error) < 0 ||
            decode_counts(&timing, timing_members, &execution->timing, error) < 0 ||
            decode_stream(&out, &execution->out, error) < 0 ||
            decode_stream(&err, &execution->err, error) < 0 ||
            decode_times(&root, execution, error) < 0 || decode_end(&root, execution, error) < 0)
                return -1;
        json_decref(execution->evidence);
        /* Shared with the frame, which nobody changes. */
        execution->evidence =
                json_is_null(evidence.value) ? NULL : json_incref((json_t *)evidence.value);
        execution->state = BH_EXECUTION_ENDED;
        return 0;
}

void bh_execution_end(struct bh_execution *execution, const char *outcome, const char *detail)
{
        free(execution->outcome);
        free(execution->detail);
        free(execution->signal);
        execution->outcome = bh_strdup(outcome);
        execution->detail = bh_strdup(detail);
        execution->signal = NULL;
        execution->has_exit_code = false;
        execution->ended_ms = bh_realtime_ms();
        execution->state = BH_EXECUTION_ENDED;
}

bool bh_labels_match(const json_t *labels, const json_t *wanted)
{
        const char *key = NULL;
        json_t *value = NULL;
        json_object_foreach ((json_t *)wanted, key, value)
                if (!json_equal(json_object_get(labels, key), value))
                        return false;
        return true;
}
