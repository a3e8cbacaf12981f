/* Admission of executions. */
#include "broker/daemon/admission.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "broker/daemon/currency.h"
#include "broker/daemon/daemon.h"
#include "broker/daemon/decision.h"
#include "broker/daemon/dispatch.h"
#include "broker/daemon/files.h"
#include "broker/daemon/idempotency.h"
#include "broker/daemon/watch.h"

#define WAIT_MS_MAX   ((int64_t)600 * 1000)
#define KEY_BYTES_MAX 255

struct params {
        const char *tenant, *key, *body_digest;
        int64_t wait_ms;
        struct bh_json_at body;
};

static int decode_params(struct bh_call *call, const struct bh_json_at *params, struct params *ret,
                         struct bh_error *error)
{
        static const char *const members[] = {"body",   "body_digest", "wait_ms", "idempotency_key",
                                              "tenant", NULL};
        struct bh_json_at at;
        *ret = (struct params){0};
        if (bh_json_object(params, members, error) < 0 ||
            bh_call_tenant(call, false, &ret->tenant, error) < 0 ||
            bh_json_require(params, "body_digest", &at, error) < 0 ||
            bh_json_string(&at, 1, BH_DIGEST_TEXT_SIZE - 1, &ret->body_digest, error) < 0 ||
            bh_json_require(params, "body", &at, error) < 0)
                return -1;
        ret->body = BH_JSON_ROOT(at.value);
        if (bh_json_member(params, "wait_ms", &at) &&
            bh_json_integer(&at, 0, WAIT_MS_MAX, &ret->wait_ms, error) < 0)
                return -1;
        if (bh_json_member(params, "idempotency_key", &at))
                return bh_json_string(&at, 1, KEY_BYTES_MAX, &ret->key, error);
        return 0;
}

struct bh_live *bh_workspace_user(struct bh_daemon *daemon, const char *tenant, const char *name,
                                  bool writable)
{
        struct bh_live *live = NULL;
        TAILQ_FOREACH (live, &daemon->executions.all, order) {
                const struct bh_execution *record = live->record;
                if (record->state != BH_EXECUTION_ENDED && record->workspace &&
                    (writable || record->workspace_writable) &&
                    strcmp(record->workspace, name) == 0 && strcmp(record->tenant, tenant) == 0)
                        return live;
        }
        return NULL;
}

static int check_review(struct bh_daemon *daemon, const struct bh_agent *agent,
                        struct bh_error *error)
{
        _cleanup_(bh_review_row_cleanup) struct bh_review_row *review = NULL;
        struct bh_currency currency = {0};
        if (!daemon->policy->currency_deny_stale)
                return 0;
        if (bh_store_review_latest(daemon->store, agent->row->tenant, agent->row->agent, &review,
                                   error) < 0 ||
            bh_currency_judge(daemon->policy, &agent->capabilities, review, bh_realtime_ms(),
                              &currency, error) < 0)
                return -1;
        json_decref(currency.grown);
        if (!currency.stale)
                return 0;
        return bh_error_refused(error, "review_stale", "/agent",
                                "the boundary of %s was not reviewed against its present "
                                "capabilities, and the policy denies that",
                                agent->row->agent);
}

/* What a plan names has to exist. */
static int check_names(struct bh_daemon *daemon, const char *tenant,
                       const struct bh_request *request, struct bh_error *error)
{
        if (strcmp(request->image, "host") != 0)
                return bh_error_refused(error, "image_missing", "/image", "there is no image %s",
                                        request->image);
        if (!request->workspace)
                return 0;
        _cleanup_(bh_workspace_row_cleanup) struct bh_workspace_row *row = NULL;
        int r = bh_store_workspace_get(daemon->store, tenant, request->workspace, &row, error);
        if (r == 0)
                return bh_error_refused(error, "workspace_missing", "/workspace",
                                        "there is no workspace %s", request->workspace);
        return r < 0 ? -1 : 0;
}

/* The host writes them, past a mount that is read-only for the agent. */
static int check_files(const struct bh_request *request, const struct bh_plan *plan,
                       struct bh_error *error)
{
        if (request->file_count == 0 || !plan->workspace_name || plan->workspace_writable)
                return 0;
        return bh_error_refused(error, "capability_scope_mismatch", "/files",
                                "files in a named workspace need the capability "
                                "fs.workspace.write");
}

static int check_plan(struct bh_daemon *daemon, const char *tenant,
                      const struct bh_request *request, const struct bh_decision *decision,
                      struct bh_error *error)
{
        if (!decision->available)
                return bh_decision_refuse(decision, error);
        const struct bh_plan *plan = decision->plan;
        /* No secret can have been stored: none of the drivers that take them is built. */
        if (plan->secrets.count > 0)
                return bh_error_refused(error, "secret_missing", "", "there is no secret %s",
                                        plan->secrets.items[0].name);
        if (check_files(request, plan, error) < 0)
                return -1;
        if (plan->workspace_name &&
            (bh_workspace_user(daemon, tenant, plan->workspace_name, plan->workspace_writable) ||
             bh_files_writes(daemon, tenant, plan->workspace_name)))
                return bh_error_refused(error, "workspace_busy", "/workspace",
                                        "workspace %s is in use", plan->workspace_name);
        return 0;
}

int bh_admission_check(struct bh_daemon *daemon, const char *tenant, const struct bh_agent *agent,
                       const struct bh_request *request, const struct bh_decision *decision,
                       struct bh_error *error)
{
        if (check_names(daemon, tenant, request, error) < 0 ||
            check_review(daemon, agent, error) < 0)
                return -1;
        return check_plan(daemon, tenant, request, decision, error);
}

static void set_plan(struct bh_execution *record, const struct bh_plan *plan)
{
        free(record->driver);
        free(record->technology);
        record->driver = bh_strdup(plan->driver);
        record->technology = bh_strdup(plan->technology);
        record->required = plan->required_tier;
        record->effective = plan->tier;
        record->generation = plan->capability_generation;
        record->workspace_writable = plan->workspace_writable;
        memcpy(record->policy_digest, plan->policy_digest, sizeof(record->policy_digest));
        bh_plan_digest(plan, record->plan_digest);
}

static struct bh_live *new_live(struct bh_call *call, const char *tenant,
                                const struct bh_plan *plan, struct bh_request *request)
{
        struct bh_execution *record = bh_alloc(sizeof(*record));
        bh_id_make("ex_", record->id);
        record->tenant = bh_strdup(tenant);
        record->agent = bh_strdup(request->agent);
        record->workspace = request->workspace ? bh_strdup(request->workspace) : NULL;
        record->labels = json_deep_copy(request->labels);
        record->created_ms = bh_realtime_ms();
        record->slot = -1;
        set_plan(record, plan);
        struct bh_live *live = bh_live_new_take(call->daemon, record);
        live->plan = bh_plan_encode(plan);
        live->request = request;
        live->payload_fd = bh_steal_fd(&call->payload_fd);
        call->daemon->executions.queued++;
        return live;
}

/* The order, once the store has the execution; else it never was. By id, because it may be gone
 * by then. */
struct order {
        struct bh_daemon *daemon;
        char id[BH_ID_SIZE];
};

static void on_turn_end(void *data, bool committed)
{
        struct order *order = data;
        struct bh_daemon *daemon = order->daemon;
        struct bh_live *live = bh_live_find(daemon, order->id);
        if (live && !committed && !live->stored) {
                struct bh_error error = {0};
                bh_error_refused(&error, "store_failed", "", "the store cannot be written");
                bh_watch_refuse(live, &error);
                bh_execution_remove_directory(daemon, order->id);
                bh_live_free(live);
        } else if (live && live->shim && !live->shim->started && committed) {
                bh_shim_go(live);
        } else if (live && live->shim && !live->shim->started) {
                order->daemon = daemon;
                bh_turn_after(&daemon->turn, BH_TURN_ORDER, on_turn_end, order);
                return; /* stored earlier, as queued; its start waits for the store */
        }
        free(order);
}

static void settle_later(struct bh_live *live)
{
        struct order *order = bh_alloc(sizeof(*order));
        order->daemon = live->daemon;
        memcpy(order->id, live->record->id, sizeof(order->id));
        bh_turn_after(&live->daemon->turn, BH_TURN_ORDER, on_turn_end, order);
}

/* Slot, shim, directory. The boundary is built while the turn is stored; what waits for the
 * turn's end is the word that lets the workload run. */
static int take_place(struct bh_live *live, struct bh_error *error)
{
        struct bh_daemon *daemon = live->daemon;
        live->record->slot = bh_slots_take(&daemon->slots);
        if (live->record->slot < 0)
                return bh_error_set(error, BH_ERROR_UNAVAILABLE, "all host uids are taken");
        if (bh_shim_assign(live, error) < 0) {
                bh_log_error("shim.spawn_failed", live->record->id, error);
                return bh_error_set(error, BH_ERROR_UNAVAILABLE,
                                    "this host lacks what starts an execution at present");
        }
        if (bh_shim_start(live, error) < 0) {
                bh_shim_free(live->shim); /* which ends, without an order */
                live->shim = NULL;
                return -1;
        }
        if (bh_live_make_files(live, error) < 0) {
                if (live->directory_fd >= 0)
                        bh_execution_remove_directory(daemon, live->record->id);
                return -1;
        }
        bh_live_set_state(live, BH_EXECUTION_PROVISIONING, bh_realtime_ms());
        bh_live_changed(live);
        settle_later(live);
        return 0;
}

int bh_admission_replan(struct bh_live *live, const struct bh_agent *agent, struct bh_error *error)
{
        struct bh_decision decision = {0};
        bh_decision_make(live->daemon, agent, live->request, &decision);
        int r = decision.available ? 0 : bh_decision_refuse(&decision, error);
        if (r == 0 && decision.plan->workspace_name && decision.plan->workspace_writable &&
            !live->record->workspace_writable)
                r = bh_error_set(error, BH_ERROR_CONFLICT,
                                 "it would now write to a workspace that others may read");
        if (r == 0)
                r = check_files(live->request, decision.plan, error);
        if (r == 0) {
                json_decref(live->plan);
                live->plan = bh_plan_encode(decision.plan);
                set_plan(live->record, decision.plan);
                r = bh_store_plan_add(live->daemon->store, live->record->plan_digest, live->plan,
                                      error);
                bh_live_changed(live);
        }
        bh_decision_clear(&decision);
        return r;
}

/* The set may have changed since it was queued. */
static int refresh(struct bh_live *live, struct bh_error *error)
{
        _cleanup_(bh_agent_clear) struct bh_agent agent = {0};
        if (bh_agent_load(live->daemon, live->record->tenant, live->record->agent, &agent, error) <
            0)
                return -1;
        if (agent.row->generation == live->record->generation)
                return 0;
        return bh_admission_replan(live, &agent, error);
}

void bh_executions_start_queued(struct bh_daemon *daemon)
{
        struct bh_live *live = TAILQ_FIRST(&daemon->executions.all);
        if (daemon->executions.queued == 0 || daemon->draining)
                return;
        for (; live && daemon->executions.active < daemon->config->concurrent;
             live = TAILQ_NEXT(live, order)) {
                struct bh_error error = {0};
                if (live->record->state != BH_EXECUTION_QUEUED)
                        continue;
                if (refresh(live, &error) < 0)
                        bh_live_end(live, "retiered", error.message);
                else if (take_place(live, &error) < 0)
                        bh_live_end(live, "boundary_failed", error.message);
        }
}

static int check_quota(struct bh_call *call, struct bh_error *error)
{
        const struct bh_executions *executions = &call->daemon->executions;
        if (executions->active < call->daemon->config->concurrent ||
            executions->queued < call->daemon->config->queued)
                return 0;
        bh_call_header(call, "Retry-After", "1");
        return bh_error_refused(error, "too_many_executions", "",
                                "%lld executions run and %lld wait", (long long)executions->active,
                                (long long)executions->queued);
}

static void audit_created(struct bh_call *call, const struct bh_live *live)
{
        const struct bh_execution *record = live->record;
        bh_audit_add_take(call->daemon->audit, call->actor, "execution.created",
                          json_pack("{ssssss}", "execution", record->id, "agent", record->agent,
                                    "tenant", record->tenant),
                          json_pack("{sssssIss?}", "tier", bh_tier_name(record->effective),
                                    "plan_digest", record->plan_digest, "generation",
                                    (json_int_t)record->generation, "workspace",
                                    record->workspace));
}

static int replay(struct bh_call *call, const struct params *params, const char *id,
                  struct bh_error *error)
{
        struct bh_daemon *daemon = call->daemon;
        _cleanup_(bh_execution_cleanup) struct bh_execution *stored = NULL;
        _cleanup_free_ char *location = bh_format("/v1/executions/%s", id);
        bh_call_header(call, "Idempotency-Replayed", "true");
        bh_call_header(call, "Location", location);
        struct bh_live *live = bh_live_find(daemon, id);
        if (live) {
                bh_live_wait(live, call, 200, params->wait_ms);
                return 0;
        }
        int r = bh_store_execution_get(daemon->store, id, &stored, error);
        if (r < 0)
                return -1;
        if (r == 0)
                return bh_error_set(error, BH_ERROR_NOT_FOUND, "%s is no longer kept", id);
        bh_call_reply_take(call, 200, bh_execution_show(daemon, call, stored));
        return 0;
}

static int admit(struct bh_call *call, const struct params *params, struct bh_error *error)
{
        struct bh_daemon *daemon = call->daemon;
        _cleanup_(bh_request_cleanup) struct bh_request *request = NULL;
        _cleanup_(bh_agent_clear) struct bh_agent agent = {0};
        _cleanup_(bh_decision_clear) struct bh_decision decision = {0};
        if (bh_request_of_call(call, &params->body, &request, error) < 0)
                return -1;
        if (bh_agent_load(daemon, params->tenant, request->agent, &agent, error) < 0)
                return -1;
        bh_decision_make(daemon, &agent, request, &decision);
        if (bh_admission_check(daemon, params->tenant, &agent, request, &decision, error) < 0 ||
            check_quota(call, error) < 0)
                return -1;
        struct bh_live *live =
                new_live(call, params->tenant, decision.plan, bh_steal_ptr(&request));
        int r = 0;
        if (daemon->executions.active < daemon->config->concurrent) {
                r = take_place(live, error);
        } else {
                bh_live_changed(live);
                settle_later(live);
        }
        /* Last, so that no key stands for what could not be started. */
        if (r == 0 && params->key)
                r = bh_idempotency_note(daemon->store, params->tenant, params->key,
                                        params->body_digest, live->record->id,
                                        live->record->created_ms, error);
        if (r < 0) {
                if (live->directory_fd >= 0)
                        bh_execution_remove_directory(daemon, live->record->id);
                bh_live_free(live);
                return -1;
        }
        audit_created(call, live);
        _cleanup_free_ char *location = bh_format("/v1/executions/%s", live->record->id);
        bh_call_header(call, "Location", location);
        bh_live_wait(live, call, 201, params->wait_ms);
        return 0;
}

int bh_handle_execution_create(struct bh_call *call, struct bh_error *error)
{
        struct bh_json_at root = BH_JSON_ROOT(call->params);
        struct bh_daemon *daemon = call->daemon;
        struct params params;
        char id[BH_ID_SIZE];
        if (daemon->draining)
                return bh_error_refused(error, "draining", "", "the broker is stopping");
        if (decode_params(call, &root, &params, error) < 0)
                return -1;
        if (params.key) {
                int r = bh_idempotency_look(daemon->store, params.tenant, params.key,
                                            params.body_digest, bh_realtime_ms(), id, error);
                if (r < 0)
                        return -1;
                if (r > 0)
                        return replay(call, &params, id, error);
        }
        return admit(call, &params, error);
}
