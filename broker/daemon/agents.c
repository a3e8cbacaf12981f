/* The operations on agents. */
#include "broker/daemon/agents.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "broker/daemon/cursor.h"
#include "broker/daemon/daemon.h"
#include "broker/daemon/dispatch.h"
#include "broker/daemon/end_wait.h"
#include "broker/daemon/retier.h"

/* If-Match is "*" or a list of tags (RFC 9110 §13.1.1). Ours hold no comma; a weak one matches
 * nothing. */
static bool lists_tag(const char *wanted, const char *etag)
{
        size_t length = strlen(etag);
        if (strcmp(wanted, "*") == 0)
                return true;
        for (const char *at = wanted; *at; at += strspn(at, ", \t")) {
                size_t size = strcspn(at, ", \t");
                if (size == length && memcmp(at, etag, length) == 0)
                        return true;
                at += size;
        }
        return false;
}

static int check_match(const struct bh_json_at *params, const struct bh_agent *agent,
                       struct bh_error *error)
{
        struct bh_json_at at;
        const char *wanted = NULL;
        char etag[BH_ETAG_SIZE];
        if (!bh_json_member(params, "if_match", &at))
                return 0;
        if (bh_json_string(&at, 1, 256, &wanted, error) < 0)
                return -1;
        if (agent->row) {
                bh_agent_etag(agent->row, etag);
                if (lists_tag(wanted, etag))
                        return 0;
        }
        return bh_error_refused(error, "precondition_failed", "",
                                "the agent is not what If-Match names");
}

static json_t *subject(const char *tenant, const char *agent)
{
        return json_pack("{ssss}", "agent", agent, "tenant", tenant);
}

/* The row that replaces (or follows) current. */
static struct bh_agent_row *next_row(const struct bh_agent *current, const char *tenant,
                                     const char *name, const char *owner, json_t *labels,
                                     const struct bh_capabilities *capabilities)
{
        struct bh_agent_row *row = bh_alloc(sizeof(*row));
        row->tenant = bh_strdup(tenant);
        row->agent = bh_strdup(name);
        row->owner = bh_strdup(owner);
        row->labels = json_deep_copy(labels);
        row->capabilities = bh_capabilities_encode(capabilities);
        bh_capabilities_digest(capabilities, row->digest);
        row->updated_ms = row->created_ms = bh_realtime_ms();
        row->generation = 1;
        if (current->row) {
                bool same = strcmp(current->row->digest, row->digest) == 0 &&
                            strcmp(current->row->owner, owner) == 0 &&
                            json_equal(current->row->labels, labels);
                row->created_ms = current->row->created_ms;
                row->generation = current->row->generation + (same ? 0 : 1);
                if (same)
                        row->updated_ms = current->row->updated_ms;
        }
        return row;
}

static void audit_change(struct bh_call *call, const struct bh_agent *before,
                         const struct bh_agent *after, json_t *affected)
{
        static const struct bh_capabilities nothing = {0};
        const struct bh_capabilities *old = before->row ? &before->capabilities : &nothing;
        bh_audit_add_take(
                call->daemon->audit, call->actor, before->row ? "agent.changed" : "agent.created",
                subject(after->row->tenant, after->row->agent),
                json_pack("{sIsssososO}", "generation", (json_int_t)after->row->generation,
                          "capability_digest", after->row->digest, "added",
                          bh_capabilities_added(old, &after->capabilities), "removed",
                          bh_capabilities_added(&after->capabilities, old), "affected", affected));
}

/* Stores `after` and acts on what runs below it. */
static int change(struct bh_call *call, const struct bh_agent *before, const struct bh_agent *after,
                  struct bh_end_wait *wait, json_t *affected, struct bh_error *error)
{
        struct bh_daemon *daemon = call->daemon;
        if (bh_store_agent_put(daemon->store, after->row, error) < 0)
                return -1;
        if (before->row && before->row->generation == after->row->generation)
                return 0;
        if (before->row)
                bh_retier(daemon, after, wait, affected);
        audit_change(call, before, after, affected);
        return 0;
}

int bh_handle_agent_put(struct bh_call *call, struct bh_error *error)
{
        static const char *const members[] = {"agent", "body", "if_match", "tenant", NULL};
        struct bh_daemon *daemon = call->daemon;
        struct bh_json_at params = BH_JSON_ROOT(call->params), member;
        _cleanup_(bh_agent_spec_cleanup) struct bh_agent_spec *spec = NULL;
        _cleanup_(bh_agent_clear) struct bh_agent before = {0}, after = {0};
        const char *tenant = NULL, *name = NULL;
        if (bh_json_object(&params, members, error) < 0 ||
            bh_call_tenant(call, false, &tenant, error) < 0 ||
            bh_agent_name(&params, &name, error) < 0 ||
            bh_json_require(&params, "body", &member, error) < 0)
                return -1;
        struct bh_json_at body = BH_JSON_ROOT(member.value);
        if (bh_agent_spec_decode(&body, &spec, error) < 0 ||
            bh_mount_sources_check(daemon, &spec->capabilities.mounts, error) < 0 ||
            bh_agent_find(daemon, tenant, name, &before, error) < 0 ||
            check_match(&params, &before, error) < 0)
                return -1;
        struct bh_agent_row *row =
                next_row(&before, tenant, name, spec->owner, spec->labels, &spec->capabilities);
        _cleanup_json_ json_t *affected = json_array();
        json_t *shown = NULL;
        char etag[BH_ETAG_SIZE];
        if (bh_agent_from_row_take(row, &after, error) < 0 ||
            bh_agent_encode(daemon, &after, &shown, error) < 0)
                return -1;
        bh_agent_etag(after.row, etag);
        bh_call_header(call, "ETag", etag);
        struct bh_end_wait *wait = bh_end_wait_new_take(call, before.row ? 200 : 201, shown);
        if (change(call, &before, &after, wait, affected, error) < 0)
                bh_call_fail(call, error); /* the wait's own reply then finds it answered */
        bh_end_wait_arm(wait);
        return 0;
}

int bh_handle_capabilities_put(struct bh_call *call, struct bh_error *error)
{
        static const char *const members[] = {"agent", "body", "if_match", "tenant", NULL};
        struct bh_daemon *daemon = call->daemon;
        struct bh_json_at params = BH_JSON_ROOT(call->params), member;
        struct bh_capabilities wanted = {0};
        _cleanup_(bh_agent_clear) struct bh_agent before = {0}, after = {0};
        const char *tenant = NULL, *name = NULL;
        if (bh_json_object(&params, members, error) < 0 ||
            bh_call_tenant(call, false, &tenant, error) < 0 ||
            bh_agent_name(&params, &name, error) < 0 ||
            bh_json_require(&params, "body", &member, error) < 0 ||
            bh_agent_load(daemon, tenant, name, &before, error) < 0 ||
            check_match(&params, &before, error) < 0)
                return -1;
        struct bh_json_at body = BH_JSON_ROOT(member.value);
        if (bh_capabilities_decode(&body, &wanted, error) < 0)
                return -1;
        struct bh_agent_row *row = NULL;
        int r = bh_mount_sources_check(daemon, &wanted.mounts, error);
        if (r == 0)
                row = next_row(&before, tenant, name, before.row->owner, before.row->labels,
                               &wanted);
        bh_capabilities_clear(&wanted);
        if (r < 0 || bh_agent_from_row_take(row, &after, error) < 0)
                return -1;
        json_t *affected = json_array();
        char etag[BH_ETAG_SIZE];
        json_t *shown = json_pack(
                "{sssIsssssososo}", "agent", name, "generation", (json_int_t)after.row->generation,
                "previous_tier",
                bh_tier_name(bh_required_tier(daemon->policy, before.capabilities.set)),
                "required_tier",
                bh_tier_name(bh_required_tier(daemon->policy, after.capabilities.set)), "added",
                bh_capabilities_added(&before.capabilities, &after.capabilities), "removed",
                bh_capabilities_added(&after.capabilities, &before.capabilities), "affected",
                affected);
        bh_agent_etag(after.row, etag);
        bh_call_header(call, "ETag", etag);
        struct bh_end_wait *wait = bh_end_wait_new_take(call, 200, shown);
        if (change(call, &before, &after, wait, affected, error) < 0)
                bh_call_fail(call, error);
        bh_end_wait_arm(wait);
        return 0;
}

int bh_handle_agent_get(struct bh_call *call, struct bh_error *error)
{
        static const char *const members[] = {"agent", "tenant", NULL};
        struct bh_json_at params = BH_JSON_ROOT(call->params);
        _cleanup_(bh_agent_clear) struct bh_agent agent = {0};
        const char *tenant = NULL, *name = NULL;
        char etag[BH_ETAG_SIZE];
        json_t *shown = NULL;
        if (bh_json_object(&params, members, error) < 0 ||
            bh_call_tenant(call, false, &tenant, error) < 0 ||
            bh_agent_name(&params, &name, error) < 0 ||
            bh_agent_load(call->daemon, tenant, name, &agent, error) < 0 ||
            bh_agent_encode(call->daemon, &agent, &shown, error) < 0)
                return -1;
        bh_agent_etag(agent.row, etag);
        bh_call_header(call, "ETag", etag);
        bh_call_reply_take(call, 200, shown);
        return 0;
}

struct listing {
        struct bh_page page;
        struct bh_agent agents[BH_LIMIT_MAX_ITEMS + 1];
        size_t count;
};

static int collect(const struct bh_agent_row *row, void *data, struct bh_error *error)
{
        struct listing *listing = data;
        struct bh_agent_row *copy = bh_alloc(sizeof(*copy));
        *copy = *row;
        copy->tenant = bh_strdup(row->tenant);
        copy->agent = bh_strdup(row->agent);
        copy->owner = bh_strdup(row->owner);
        json_incref(copy->labels);
        json_incref(copy->capabilities);
        if (bh_agent_from_row_take(copy, &listing->agents[listing->count], error) < 0)
                return -1;
        return ++listing->count > listing->page.limit;
}

int bh_handle_agent_list(struct bh_call *call, struct bh_error *error)
{
        static const char *const members[] = {"limit", "cursor", "tenant", NULL};
        struct bh_json_at params = BH_JSON_ROOT(call->params);
        _cleanup_free_ struct listing *listing = bh_alloc(sizeof(*listing));
        struct bh_page *page = &listing->page;
        const char *tenant = NULL;
        if (bh_json_object(&params, members, error) < 0 ||
            bh_call_tenant(call, true, &tenant, error) < 0 ||
            bh_page_begin(page, &params, 2, error) < 0)
                return -1;
        int r = bh_store_agent_list(call->daemon->store, tenant,
                                    page->after[0] ? page->after[0] : "",
                                    page->after[1] ? page->after[1] : "", collect, listing, error);
        for (size_t i = 0; i < listing->count; i++) {
                struct bh_agent *agent = &listing->agents[i];
                const char *key[] = {agent->row->tenant, agent->row->agent};
                json_t *shown = NULL;
                if (r == 0)
                        r = bh_agent_encode(call->daemon, agent, &shown, error);
                if (r == 0)
                        bh_page_add_take(page, shown, key);
                bh_agent_clear(agent);
        }
        if (r == 0)
                bh_call_reply_take(call, 200, bh_page_finish(page));
        bh_page_clear(page);
        return r;
}

int bh_handle_agent_delete(struct bh_call *call, struct bh_error *error)
{
        static const char *const members[] = {"agent", "force", "if_match", "tenant", NULL};
        struct bh_daemon *daemon = call->daemon;
        struct bh_json_at params = BH_JSON_ROOT(call->params), at;
        _cleanup_(bh_agent_clear) struct bh_agent agent = {0};
        const char *tenant = NULL, *name = NULL;
        bool force = false;
        if (bh_json_object(&params, members, error) < 0 ||
            bh_call_tenant(call, false, &tenant, error) < 0 ||
            bh_agent_name(&params, &name, error) < 0)
                return -1;
        if (bh_json_member(&params, "force", &at) && bh_json_boolean(&at, &force, error) < 0)
                return -1;
        if (bh_agent_load(daemon, tenant, name, &agent, error) < 0 ||
            check_match(&params, &agent, error) < 0)
                return -1;
        if (!force && bh_live_of_agent(daemon, NULL, tenant, name))
                return bh_error_refused(error, "agent_busy", "", "executions of %s are under way",
                                        name);
        if (bh_store_agent_delete(daemon->store, tenant, name, error) < 0)
                return -1;
        struct bh_end_wait *wait = bh_end_wait_new_take(call, 204, NULL);
        struct bh_live *live = bh_live_of_agent(daemon, NULL, tenant, name), *next = NULL;
        for (; live; live = next) {
                next = bh_live_of_agent(daemon, live, tenant, name);
                bh_end_wait_add(wait, live);
                bh_live_kill(live, "killed", "its agent was deleted");
        }
        bh_audit_add_take(daemon->audit, call->actor, "agent.deleted", subject(tenant, name),
                          json_pack("{sb}", "force", force));
        bh_end_wait_arm(wait);
        return 0;
}
