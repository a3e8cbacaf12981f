/* The operations on reviews of agents. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "broker/daemon/agents.h"
#include "broker/daemon/cursor.h"
#include "broker/daemon/daemon.h"
#include "broker/daemon/dispatch.h"

#define DAY_MS           ((int64_t)24 * 60 * 60 * 1000)
#define NOTE_BYTES_MAX   4096
#define EXPIRES_DAYS_MAX 3650

static json_t *encode(const struct bh_review_row *row)
{
        char reviewed[BH_TIME_TEXT_SIZE], expires[BH_TIME_TEXT_SIZE];
        bh_time_format(row->reviewed_ms, reviewed);
        bh_time_format(row->expires_ms, expires);
        return json_pack("{ss ss sI ss ss ss ss ss sO}", "agent", row->agent, "tenant", row->tenant,
                         "generation", (json_int_t)row->generation, "capability_digest",
                         row->digest, "reviewed_by", row->reviewer, "reviewed_at", reviewed,
                         "expires_at", expires, "note", row->note, "capabilities",
                         row->capabilities);
}

static int decode(const struct bh_json_at *body, const struct bh_policy *policy, const char **note,
                  int64_t *days, struct bh_error *error)
{
        static const char *const members[] = {"note", "expires_in_days", NULL};
        struct bh_json_at at;
        *note = "";
        *days = policy->currency_max_age_days;
        if (bh_json_object(body, members, error) < 0)
                return -1;
        if (bh_json_member(body, "note", &at) &&
            bh_json_string(&at, 0, NOTE_BYTES_MAX, note, error) < 0)
                return -1;
        if (bh_json_member(body, "expires_in_days", &at))
                return bh_json_integer(&at, 1, EXPIRES_DAYS_MAX, days, error);
        return 0;
}

int bh_handle_review_create(struct bh_call *call, struct bh_error *error)
{
        static const char *const members[] = {"agent", "body", "tenant", NULL};
        struct bh_daemon *daemon = call->daemon;
        struct bh_json_at params = BH_JSON_ROOT(call->params), member;
        _cleanup_(bh_agent_clear) struct bh_agent agent = {0};
        const char *tenant = NULL, *name = NULL, *note = NULL;
        int64_t days = 0;
        if (bh_json_object(&params, members, error) < 0 ||
            bh_call_tenant(call, false, &tenant, error) < 0 ||
            bh_agent_name(&params, &name, error) < 0 ||
            bh_json_require(&params, "body", &member, error) < 0)
                return -1;
        struct bh_json_at body = BH_JSON_ROOT(member.value);
        if (decode(&body, daemon->policy, &note, &days, error) < 0 ||
            bh_agent_load(daemon, tenant, name, &agent, error) < 0)
                return -1;
        _cleanup_(bh_review_row_cleanup) struct bh_review_row *row = bh_alloc(sizeof(*row));
        row->tenant = bh_strdup(tenant);
        row->agent = bh_strdup(name);
        row->reviewer = bh_strdup(call->actor);
        row->note = bh_strdup(note);
        row->capabilities = json_incref(agent.row->capabilities);
        memcpy(row->digest, agent.row->digest, sizeof(row->digest));
        row->generation = agent.row->generation;
        row->reviewed_ms = bh_realtime_ms();
        row->expires_ms = row->reviewed_ms + days * DAY_MS;
        if (bh_store_review_add(daemon->store, row, error) < 0)
                return -1;
        bh_audit_add_take(daemon->audit, call->actor, "agent.reviewed",
                          json_pack("{ssss}", "agent", name, "tenant", tenant),
                          json_pack("{sIss}", "generation", (json_int_t)row->generation,
                                    "capability_digest", row->digest));
        bh_call_reply_take(call, 201, encode(row));
        return 0;
}

static int collect(const struct bh_review_row *row, void *data, struct bh_error *error)
{
        char number[24];
        const char *key[] = {number};
        (void)error;
        snprintf(number, sizeof(number), "%lld", (long long)row->number);
        return bh_page_add_take(data, encode(row), key);
}

int bh_handle_review_list(struct bh_call *call, struct bh_error *error)
{
        static const char *const members[] = {"agent", "limit", "cursor", "tenant", NULL};
        struct bh_json_at params = BH_JSON_ROOT(call->params);
        _cleanup_(bh_agent_clear) struct bh_agent agent = {0};
        struct bh_page page = {0};
        const char *tenant = NULL, *name = NULL;
        if (bh_json_object(&params, members, error) < 0 ||
            bh_call_tenant(call, false, &tenant, error) < 0 ||
            bh_agent_name(&params, &name, error) < 0 ||
            bh_agent_load(call->daemon, tenant, name, &agent, error) < 0 ||
            bh_page_begin(&page, &params, 1, error) < 0)
                return -1;
        int64_t before = page.after[0] ? strtoll(page.after[0], NULL, 10) : 0;
        int r = bh_store_review_list(call->daemon->store, tenant, name, before, collect, &page,
                                     error);
        if (r == 0)
                bh_call_reply_take(call, 200, bh_page_finish(&page));
        bh_page_clear(&page);
        return r;
}
