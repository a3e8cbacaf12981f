/* Agents as their rows and as the API shows them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "broker/daemon/agents.h"
#include "broker/daemon/currency.h"
#include "broker/daemon/daemon.h"
#include "policy/decide.h"

int bh_agent_from_row_take(struct bh_agent_row *row, struct bh_agent *ret, struct bh_error *error)
{
        struct bh_json_at at = BH_JSON_ROOT(row->capabilities);
        struct bh_agent agent = {.row = row};
        if (bh_capabilities_decode(&at, &agent.capabilities, error) < 0) {
                bh_error_refused(error, "store_failed", "", "store: agent %s: %s", row->agent,
                                 error ? error->message : "");
                bh_agent_row_free(row);
                return -1;
        }
        *ret = agent;
        return 0;
}

int bh_agent_find(struct bh_daemon *daemon, const char *tenant, const char *name,
                  struct bh_agent *ret, struct bh_error *error)
{
        struct bh_agent_row *row = NULL;
        int r = bh_store_agent_get(daemon->store, tenant, name, &row, error);
        if (r <= 0)
                return r;
        return bh_agent_from_row_take(row, ret, error) < 0 ? -1 : 1;
}

int bh_agent_load(struct bh_daemon *daemon, const char *tenant, const char *name,
                  struct bh_agent *ret, struct bh_error *error)
{
        int r = bh_agent_find(daemon, tenant, name, ret, error);
        if (r == 0)
                return bh_error_set(error, BH_ERROR_NOT_FOUND, "there is no agent %s", name);
        return r < 0 ? -1 : 0;
}

void bh_agent_clear(struct bh_agent *agent)
{
        if (!agent->row)
                return;
        bh_agent_row_free(agent->row);
        bh_capabilities_clear(&agent->capabilities);
        agent->row = NULL;
}

void bh_agent_etag(const struct bh_agent_row *row, char ret[BH_ETAG_SIZE])
{
        char digest[BH_DIGEST_TEXT_SIZE];
        _cleanup_json_ json_t *content =
                json_pack("{sssOsssI}", "owner", row->owner, "labels", row->labels, "digest",
                          row->digest, "created_ms", (json_int_t)row->created_ms);
        bh_json_digest(content, digest);
        snprintf(ret, BH_ETAG_SIZE, "\"%lld-%.12s\"", (long long)row->generation,
                 digest + strlen("sha256:"));
}

static json_t *encode_time(int64_t at_ms)
{
        char text[BH_TIME_TEXT_SIZE];
        bh_time_format(at_ms, text);
        return json_string(text);
}

int bh_agent_encode(struct bh_daemon *daemon, const struct bh_agent *agent, json_t **ret,
                    struct bh_error *error)
{
        const struct bh_agent_row *row = agent->row;
        _cleanup_(bh_review_row_cleanup) struct bh_review_row *review = NULL;
        struct bh_currency currency = {0};
        json_t *reasons = NULL;
        if (bh_store_review_latest(daemon->store, row->tenant, row->agent, &review, error) < 0 ||
            bh_currency_judge(daemon->policy, &agent->capabilities, review, bh_realtime_ms(),
                              &currency, error) < 0)
                return -1;
        enum bh_tier tier = bh_decide_tier(daemon->policy, agent->capabilities.set, &reasons);
        json_t *json = json_pack(
                "{ss ss ss? sO sI ss ss so so so so}", "agent", row->agent, "tenant", row->tenant,
                "owner", row->owner[0] ? row->owner : NULL, "labels", row->labels, "generation",
                (json_int_t)row->generation, "capability_digest", row->digest, "required_tier",
                bh_tier_name(tier), "reasons", reasons, "currency",
                bh_currency_encode_take(&currency, row->digest, review), "created_at",
                encode_time(row->created_ms), "updated_at", encode_time(row->updated_ms));
        if (!json)
                bh_alloc_failed();
        json_object_update(json, row->capabilities);
        *ret = json;
        return 0;
}

enum bh_tier bh_required_tier(const struct bh_policy *policy, bh_capability_set set)
{
        json_t *reasons = NULL;
        enum bh_tier tier = bh_decide_tier(policy, set, &reasons);
        json_decref(reasons);
        return tier;
}

int bh_agent_name(const struct bh_json_at *params, const char **ret, struct bh_error *error)
{
        struct bh_json_at at;
        if (bh_json_require(params, "agent", &at, error) < 0)
                return -1;
        return bh_name_decode(&at, ret, error);
}
