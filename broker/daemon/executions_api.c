/* The operations on executions that exist. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "broker/daemon/cursor.h"
#include "broker/daemon/daemon.h"
#include "broker/daemon/dispatch.h"

#define WAIT_MS_MAX ((int64_t)600 * 1000)

/* What params' "execution" names, in the caller's tenant: under way, or a record of the past. */
struct found {
        struct bh_live *live;
        struct bh_execution *stored; /* owned */
};

static void found_clear(struct found *found)
{
        bh_execution_free(found->stored);
}

static int find(struct bh_call *call, const struct bh_json_at *params, struct found *ret,
                struct bh_error *error)
{
        struct bh_json_at at;
        const char *id = NULL, *tenant = NULL;
        if (bh_call_tenant(call, true, &tenant, error) < 0 ||
            bh_json_require(params, "execution", &at, error) < 0 ||
            bh_json_string(&at, 1, 256, &id, error) < 0)
                return -1;
        struct found found = {0};
        int r = 0;
        if (bh_id_valid("ex_", id)) {
                found.live = bh_live_find(call->daemon, id);
                r = found.live
                            ? 1
                            : bh_store_execution_get(call->daemon->store, id, &found.stored, error);
        }
        if (r < 0)
                return -1;
        const struct bh_execution *record = found.live ? found.live->record : found.stored;
        if (!record || (tenant && strcmp(record->tenant, tenant) != 0)) {
                found_clear(&found);
                bh_error_set(error, BH_ERROR_NOT_FOUND, "there is no such execution");
                return -1;
        }
        *ret = found;
        return 0;
}

int bh_handle_execution_get(struct bh_call *call, struct bh_error *error)
{
        static const char *const members[] = {"execution", "wait_ms", "tenant", NULL};
        struct bh_json_at params = BH_JSON_ROOT(call->params), at;
        _cleanup_(found_clear) struct found found = {0};
        int64_t wait_ms = 0;
        if (bh_json_object(&params, members, error) < 0)
                return -1;
        if (bh_json_member(&params, "wait_ms", &at) &&
            bh_json_integer(&at, 0, WAIT_MS_MAX, &wait_ms, error) < 0)
                return -1;
        if (find(call, &params, &found, error) < 0)
                return -1;
        if (found.live)
                bh_live_wait(found.live, call, 200, wait_ms);
        else
                bh_call_reply_take(call, 200, bh_execution_show(call->daemon, call, found.stored));
        return 0;
}

int bh_handle_execution_watch(struct bh_call *call, struct bh_error *error)
{
        static const char *const members[] = {"execution", "tenant", NULL};
        struct bh_json_at params = BH_JSON_ROOT(call->params);
        _cleanup_(found_clear) struct found found = {0};
        if (bh_json_object(&params, members, error) < 0 || find(call, &params, &found, error) < 0)
                return -1;
        if (found.live) {
                bh_live_watch(found.live, call);
                return 0;
        }
        struct bh_execution *record = found.stored;
        json_t *body = bh_execution_show(call->daemon, call, record);
        call->streaming = true;
        bh_call_reply_take(call, 200, body);
        bh_execution_replay(call, record, record->out.bytes - record->out.dropped,
                            record->err.bytes - record->err.dropped);
        return 0;
}

int bh_handle_execution_delete(struct bh_call *call, struct bh_error *error)
{
        static const char *const members[] = {"execution", "tenant", NULL};
        struct bh_daemon *daemon = call->daemon;
        struct bh_json_at params = BH_JSON_ROOT(call->params);
        _cleanup_(found_clear) struct found found = {0};
        if (bh_json_object(&params, members, error) < 0 || find(call, &params, &found, error) < 0)
                return -1;
        struct bh_execution *record = found.live ? found.live->record : found.stored;
        if (record->state != BH_EXECUTION_ENDED) {
                bh_audit_add_take(daemon->audit, call->actor, "execution.killed",
                                  json_pack("{ssssss}", "execution", record->id, "agent",
                                            record->agent, "tenant", record->tenant),
                                  NULL);
                bh_live_kill(found.live, "killed", "asked for by a client");
        }
        bool ended = record->state == BH_EXECUTION_ENDED;
        bh_call_reply_take(call, ended ? 200 : 202, bh_execution_show(daemon, call, record));
        return 0;
}

struct listing {
        struct bh_daemon *daemon;
        struct bh_page page;
        int state; /* -1: any */
        const json_t *labels;
};

static int collect(struct bh_execution *row, void *data, struct bh_error *error)
{
        struct listing *listing = data;
        struct bh_live *live = NULL;
        const char *key[] = {row->id};
        (void)error;
        /* The store's row is behind what is under way. */
        if (row->state != BH_EXECUTION_ENDED)
                live = bh_live_find(listing->daemon, row->id);
        const struct bh_execution *record = live ? live->record : row;
        if (listing->state >= 0 && (int)record->state != listing->state)
                return 0;
        if (!bh_labels_match(record->labels, listing->labels))
                return 0;
        return bh_page_add_take(&listing->page, bh_execution_encode(record), key);
}

static int decode_filter(const struct bh_json_at *params, struct bh_execution_filter *filter,
                         struct listing *listing, struct bh_error *error)
{
        struct bh_json_at at;
        const char *text = NULL;
        filter->ended = listing->state = -1;
        if (bh_json_member(params, "agent", &at) && bh_name_decode(&at, &filter->agent, error) < 0)
                return -1;
        if (bh_json_member(params, "state", &at)) {
                if (bh_json_string(&at, 1, 32, &text, error) < 0)
                        return -1;
                listing->state = bh_execution_state_by_name(text);
                if (listing->state < 0)
                        return bh_json_fail(&at, error,
                                            "expected queued, provisioning, running or ended");
                filter->ended = listing->state == BH_EXECUTION_ENDED;
        }
        if (bh_json_member(params, "labels", &at)) {
                if (!json_is_object(at.value))
                        return bh_json_fail(&at, error, "must be an object");
                listing->labels = at.value;
        }
        return 0;
}

int bh_handle_execution_list(struct bh_call *call, struct bh_error *error)
{
        static const char *const members[] = {"agent",  "state",  "labels", "limit",
                                              "cursor", "tenant", NULL};
        struct bh_daemon *daemon = call->daemon;
        struct bh_json_at params = BH_JSON_ROOT(call->params);
        struct bh_execution_filter filter = {0};
        struct listing listing = {.daemon = daemon};
        if (bh_json_object(&params, members, error) < 0 ||
            bh_call_tenant(call, true, &filter.tenant, error) < 0 ||
            decode_filter(&params, &filter, &listing, error) < 0 ||
            bh_page_begin(&listing.page, &params, 1, error) < 0)
                return -1;
        filter.before = listing.page.after[0];
        int r = bh_store_execution_list(daemon->store, &filter, collect, &listing, error);
        if (r == 0)
                bh_call_reply_take(call, 200, bh_page_finish(&listing.page));
        bh_page_clear(&listing.page);
        return r;
}
