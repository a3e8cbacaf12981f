/* Re-tiering of executions under way. */
#include "broker/daemon/retier.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/log.h"
#include "broker/daemon/admission.h"
#include "broker/daemon/daemon.h"
#include "broker/daemon/timeval.h"
#include "policy/decide.h"

enum bh_retier_action bh_retier_decide(const struct bh_policy *policy, enum bh_tier required,
                                       enum bh_tier effective)
{
        if (effective >= required)
                return BH_RETIER_KEEP;
        return policy->on_raise == BH_ON_RAISE_DRAIN ? BH_RETIER_DRAIN : BH_RETIER_KILL;
}

static void note(json_t *affected, const struct bh_live *live, const char *action,
                 const char *format, enum bh_tier required)
{
        char *reason = bh_format("%s: tier %s, required %s", format,
                                 bh_tier_name(live->record->effective), bh_tier_name(required));
        json_array_append_new(affected, json_pack("{ssssss}", "execution", live->record->id,
                                                  "action", action, "reason", reason));
        free(reason);
}

static void kill_one(struct bh_live *live, enum bh_tier required)
{
        char *detail =
                bh_format("its agent's capabilities now require tier %s", bh_tier_name(required));
        bh_live_kill(live, "retiered", detail);
        free(detail);
}

static void on_drained(evutil_socket_t fd, short what, void *data)
{
        struct bh_live *live = data;
        (void)fd;
        (void)what;
        bh_live_kill(live, "retiered", "its time to drain is over");
}

static void drain_one(struct bh_live *live)
{
        int64_t drain_ms = live->daemon->policy->drain_ms;
        const struct timeval delay = bh_timeval_ms(drain_ms);
        if (live->drain)
                return; /* an earlier raise gave it less time */
        live->drain = event_new(live->daemon->base, -1, 0, on_drained, live);
        if (!live->drain)
                bh_alloc_failed();
        event_add(live->drain, &delay);
}

/* What has not begun gets the newer set's plan, or ends. */
static void replan(struct bh_live *live, const struct bh_agent *agent, enum bh_tier required,
                   json_t *affected)
{
        struct bh_error error = {0};
        if (bh_admission_replan(live, agent, &error) == 0) {
                note(affected, live, "kept", "still queued, planned anew", required);
                return;
        }
        note(affected, live, "killed", "was queued and cannot be planned anew", required);
        bh_live_end(live, "retiered", error.message);
}

static void act(struct bh_live *live, const struct bh_agent *agent, struct bh_end_wait *wait,
                json_t *affected)
{
        enum bh_tier required = bh_required_tier(live->daemon->policy, agent->capabilities.set);
        if (live->record->state == BH_EXECUTION_QUEUED) {
                replan(live, agent, required, affected);
                return;
        }
        switch (bh_retier_decide(live->daemon->policy, required, live->record->effective)) {
        case BH_RETIER_KEEP:
                if (live->drain)
                        event_free(live->drain); /* of a raise that was taken back */
                live->drain = NULL;
                note(affected, live, "kept", "its boundary is strong enough", required);
                break;
        case BH_RETIER_DRAIN:
                note(affected, live, "drained", "its boundary is too weak", required);
                drain_one(live);
                break;
        case BH_RETIER_KILL:
                note(affected, live, "killed", "its boundary is too weak", required);
                if (wait)
                        bh_end_wait_add(wait, live);
                kill_one(live, required);
                break;
        }
}

void bh_retier(struct bh_daemon *daemon, const struct bh_agent *agent, struct bh_end_wait *wait,
               json_t *affected)
{
        const char *tenant = agent->row->tenant, *name = agent->row->agent;
        struct bh_live *live = bh_live_of_agent(daemon, NULL, tenant, name), *next = NULL;
        for (; live; live = next) {
                next = bh_live_of_agent(daemon, live, tenant, name);
                act(live, agent, wait, affected);
        }
}

json_t *bh_retier_all(struct bh_daemon *daemon)
{
        json_t *affected = json_array();
        struct bh_live *live = TAILQ_FIRST(&daemon->executions.all), *next = NULL;
        for (; live; live = next) {
                struct bh_agent agent = {0};
                struct bh_error error = {0};
                next = TAILQ_NEXT(live, order);
                if (live->record->state == BH_EXECUTION_ENDED)
                        continue;
                int r = bh_agent_find(daemon, live->record->tenant, live->record->agent, &agent,
                                      &error);
                if (r > 0)
                        act(live, &agent, NULL, affected);
                else if (r < 0)
                        bh_log_error("retier.failed", live->record->id, &error);
                bh_agent_clear(&agent);
        }
        return affected;
}
