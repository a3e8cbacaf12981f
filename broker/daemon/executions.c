/* The executions that are under way, from admission to the store's last word. */
#include "broker/daemon/executions.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "broker/daemon/daemon.h"
#include "broker/daemon/timeval.h"
#include "broker/daemon/watch.h"

/* What a shim may take to end its boundary and say so, before it is ended itself. */
#define KILL_SECONDS 20

/* What a shim may take longer than the wall limit of its execution. */
#define OVERDUE_MS   5000

static struct bh_live_bucket *bucket_of(struct bh_executions *executions, const char *id)
{
        uint32_t hash = 2166136261U; /* FNV-1a */
        for (; *id; id++)
                hash = (hash ^ (unsigned char)*id) * 16777619U;
        return &executions->buckets[hash % BH_LIVE_BUCKETS];
}

void bh_executions_init(struct bh_executions *executions)
{
        *executions = (struct bh_executions){0};
        TAILQ_INIT(&executions->all);
}

struct bh_live *bh_live_new_take(struct bh_daemon *daemon, struct bh_execution *record)
{
        struct bh_live *live = bh_alloc(sizeof(*live));
        live->daemon = daemon;
        live->record = record;
        live->payload_fd = live->directory_fd = live->out_fd = live->err_fd = -1;
        LIST_INSERT_HEAD(bucket_of(&daemon->executions, record->id), live, bucket);
        TAILQ_INSERT_TAIL(&daemon->executions.all, live, order);
        return live;
}

struct bh_live *bh_live_find(struct bh_daemon *daemon, const char *id)
{
        struct bh_live *live = NULL;
        LIST_FOREACH (live, bucket_of(&daemon->executions, id), bucket)
                if (strcmp(live->record->id, id) == 0)
                        return live;
        return NULL;
}

static void leave_place(struct bh_live *live)
{
        struct bh_executions *executions = &live->daemon->executions;
        if (live->record->state == BH_EXECUTION_QUEUED)
                executions->queued--;
        else if (live->record->state != BH_EXECUTION_ENDED)
                executions->active--;
}

static void drop_request(struct bh_live *live)
{
        bh_request_free(live->request);
        live->request = NULL;
        live->payload_fd = bh_close(live->payload_fd);
}

static void drop_timers(struct bh_live *live)
{
        if (live->drain)
                event_free(live->drain);
        if (live->kill_deadline)
                event_free(live->kill_deadline);
        if (live->overdue)
                event_free(live->overdue);
        live->drain = live->kill_deadline = live->overdue = NULL;
        bh_search_free(live->search);
        live->search = NULL;
}

static void run_hooks(struct bh_live *live)
{
        while (!LIST_EMPTY(&live->hooks)) {
                struct bh_end_hook *hook = LIST_FIRST(&live->hooks);
                LIST_REMOVE(hook, entry);
                hook->action(live, hook->data);
                free(hook);
        }
}

void bh_live_free(struct bh_live *live)
{
        if (!live)
                return;
        leave_place(live);
        bh_watch_drop_all(live);
        run_hooks(live);
        drop_timers(live);
        bh_shim_free(live->shim);
        bh_slots_release(&live->daemon->slots, live->record->slot);
        drop_request(live);
        bh_live_close_files(live);
        LIST_REMOVE(live, bucket);
        TAILQ_REMOVE(&live->daemon->executions.all, live, order);
        json_decref(live->plan);
        free(live->kill_detail);
        bh_execution_free(live->record);
        free(live);
}

/* A new regular file that nobody else has, beneath the execution's directory. */
static int make_file(const struct bh_live *live, const char *name, struct bh_error *error)
{
        return bh_open_beneath(live->directory_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW,
                               0600, error);
}

int bh_live_make_files(struct bh_live *live, struct bh_error *error)
{
        int parent = live->daemon->executions_fd;
        const char *id = live->record->id;
        if (mkdirat(parent, id, 0700) < 0)
                return bh_error_errno(error, errno, "make the execution's directory");
        live->directory_fd = bh_open_beneath(parent, id, O_RDONLY | O_DIRECTORY, 0, error);
        if (live->directory_fd < 0)
                return -1;
        live->out_fd = make_file(live, "stdout", error);
        live->err_fd = live->out_fd < 0 ? -1 : make_file(live, "stderr", error);
        return live->err_fd < 0 ? -1 : 0;
}

void bh_live_close_files(struct bh_live *live)
{
        live->directory_fd = bh_close(live->directory_fd);
        live->out_fd = bh_close(live->out_fd);
        live->err_fd = bh_close(live->err_fd);
}

void bh_live_hook(struct bh_live *live, bh_end_action action, void *data)
{
        struct bh_end_hook *hook = bh_alloc(sizeof(*hook));
        hook->action = action;
        hook->data = data;
        LIST_INSERT_HEAD(&live->hooks, hook, entry);
}

static void on_overdue(evutil_socket_t fd, short what, void *data)
{
        (void)fd;
        (void)what;
        bh_live_kill(data, "timeout", "wall_ms limit reached, and its shim did not act");
}

/* The limit is the shim's to hold. Should that one hang or be stopped, the broker steps in: by
 * the plan's limit, or for one that was adopted by the largest that there can be. */
static void arm_overdue(struct bh_live *live)
{
        json_t *limit = json_object_get(json_object_get(live->plan, "limits"), "wall_ms");
        int64_t wall_ms = limit ? json_integer_value(limit)
                                : live->daemon->policy->limits.max.value[BH_LIMIT_WALL_MS];
        const struct timeval delay = bh_timeval_ms(wall_ms + OVERDUE_MS);
        if (!live->overdue)
                live->overdue = event_new(live->daemon->base, -1, 0, on_overdue, live);
        if (!live->overdue)
                bh_alloc_failed();
        event_add(live->overdue, &delay);
}

void bh_live_set_state(struct bh_live *live, enum bh_execution_state state, int64_t at_ms)
{
        struct bh_execution *record = live->record;
        if (state <= record->state || state == BH_EXECUTION_ENDED)
                return;
        if (record->state == BH_EXECUTION_QUEUED) {
                live->daemon->executions.queued--;
                live->daemon->executions.active++;
        }
        record->state = state;
        if (state >= BH_EXECUTION_PROVISIONING && record->provisioning_ms == 0)
                record->provisioning_ms = at_ms;
        /* Not written to the store now: a broker that comes back asks the shim. */
        if (state == BH_EXECUTION_RUNNING) {
                record->started_ms = at_ms;
                arm_overdue(live);
        }
        bh_watch_states(live);
}

void bh_live_output(struct bh_live *live, int64_t kept_out, int64_t kept_err)
{
        if (kept_out <= live->kept_out && kept_err <= live->kept_err)
                return;
        live->kept_out = kept_out;
        live->kept_err = kept_err;
        bh_watch_output(live);
}

static void audit_end(const struct bh_live *live)
{
        const struct bh_execution *record = live->record;
        bh_audit_add_take(
                live->daemon->audit, "broker", "execution.ended",
                json_pack("{ssssss}", "execution", record->id, "agent", record->agent, "tenant",
                          record->tenant),
                json_pack("{ssssso}", "outcome", record->outcome, "detail", record->detail,
                          "exit_code",
                          record->has_exit_code ? json_integer(record->exit_code) : json_null()));
}

void bh_live_ended(struct bh_live *live)
{
        struct bh_daemon *daemon = live->daemon;
        bh_live_changed(live);
        drop_timers(live);
        drop_request(live);
        /* Its boundary is gone, so its uids may serve another; the place likewise. */
        bh_slots_release(&daemon->slots, live->record->slot);
        live->record->slot = -1;
        if (strcmp(live->record->outcome, "boundary_failed") == 0)
                daemon->probe_again = true;
        live->kept_out = live->record->out.bytes - live->record->out.dropped;
        live->kept_err = live->record->err.bytes - live->record->err.dropped;
        bh_watch_ended(live);
        run_hooks(live);
        bh_executions_start_queued(daemon);
}

void bh_live_end(struct bh_live *live, const char *outcome, const char *detail)
{
        if (live->record->state == BH_EXECUTION_ENDED)
                return;
        leave_place(live);
        bh_execution_end(live->record, outcome, detail);
        bh_live_ended(live);
}

static void on_kill_late(evutil_socket_t fd, short what, void *data)
{
        struct bh_live *live = data;
        (void)fd;
        (void)what;
        bh_shim_give_up(live, "it was told to end and its shim did not answer");
}

void bh_live_kill(struct bh_live *live, const char *outcome, const char *detail)
{
        const struct timeval limit = {.tv_sec = KILL_SECONDS};
        if (live->record->state == BH_EXECUTION_ENDED)
                return;
        if (live->record->state == BH_EXECUTION_QUEUED) {
                bh_live_end(live, outcome, detail);
                return;
        }
        if (live->shim && live->shim->started) {
                bh_shim_kill(live->shim, outcome, detail);
        } else {
                free(live->kill_detail);
                live->kill_outcome = outcome;
                live->kill_detail = bh_strdup(detail);
        }
        if (live->kill_deadline)
                return;
        live->kill_deadline = event_new(live->daemon->base, -1, 0, on_kill_late, live);
        if (!live->kill_deadline)
                bh_alloc_failed();
        event_add(live->kill_deadline, &limit);
}

/* A stream's file beneath the execution's directory, or -1 when there is none. */
static int open_stream(struct bh_daemon *daemon, const char *id, const char *name)
{
        char path[BH_ID_SIZE + 16];
        snprintf(path, sizeof(path), "%s/%s", id, name);
        return bh_open_beneath(daemon->executions_fd, path, O_RDONLY, 0, NULL);
}

static int64_t size_of(int fd)
{
        off_t size = lseek(fd, 0, SEEK_END);
        return size < 0 ? 0 : (int64_t)size;
}

json_t *bh_execution_show(struct bh_daemon *daemon, struct bh_call *call,
                          struct bh_execution *record)
{
        int out = open_stream(daemon, record->id, "stdout");
        int err = open_stream(daemon, record->id, "stderr");
        if (out < 0 || err < 0) {
                bh_close(out);
                bh_close(err);
                return bh_execution_encode(record);
        }
        if (record->state != BH_EXECUTION_ENDED) {
                record->out.bytes = size_of(out);
                record->err.bytes = size_of(err);
        }
        bh_call_attach_take(call, out);
        bh_call_attach_take(call, err);
        return bh_execution_encode(record);
}

void bh_live_changed(struct bh_live *live)
{
        live->dirty = true;
        live->daemon->executions.dirty = true;
}

int bh_executions_store(struct bh_daemon *daemon, struct bh_error *error)
{
        struct bh_live *live = NULL;
        if (!daemon->executions.dirty)
                return 0;
        TAILQ_FOREACH (live, &daemon->executions.all, order) {
                if (!live->dirty)
                        continue;
                /* Here, so that a turn that has to be stored again records it again. */
                if (live->record->state == BH_EXECUTION_ENDED)
                        audit_end(live);
                int r = live->stored ? bh_store_execution_update(daemon->store, live->record, error)
                                     : bh_store_execution_add(daemon->store, live->record,
                                                              live->plan, error);
                if (r < 0)
                        return -1;
        }
        return 0;
}

/* After the turn's replies, so that nobody's answer waits while the shim ends. */
static void let_end(void *data, bool committed)
{
        struct bh_shim *shim = data;
        (void)committed;
        bh_shim_taken(shim);
        bh_shim_free(shim);
}

void bh_executions_stored(struct bh_daemon *daemon)
{
        struct bh_live *live = TAILQ_FIRST(&daemon->executions.all);
        if (!daemon->executions.dirty)
                return;
        daemon->executions.dirty = false;
        while (live) {
                struct bh_live *next = TAILQ_NEXT(live, order);
                if (live->dirty) {
                        live->dirty = false;
                        live->stored = true;
                        if (live->record->state == BH_EXECUTION_ENDED) {
                                if (live->shim)
                                        bh_turn_after(&daemon->turn, BH_TURN_REPLY, let_end,
                                                      bh_steal_ptr(&live->shim));
                                bh_live_free(live);
                        }
                }
                live = next;
        }
}

struct bh_live *bh_live_of_agent(struct bh_daemon *daemon, struct bh_live *after,
                                 const char *tenant, const char *agent)
{
        struct bh_live *live =
                after ? TAILQ_NEXT(after, order) : TAILQ_FIRST(&daemon->executions.all);
        for (; live; live = TAILQ_NEXT(live, order))
                if (live->record->state != BH_EXECUTION_ENDED &&
                    strcmp(live->record->agent, agent) == 0 &&
                    strcmp(live->record->tenant, tenant) == 0)
                        return live;
        return NULL;
}
