/* Shim processes and the frames to and from them. */
#include "broker/daemon/shims.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/log.h"
#include "broker/daemon/agents.h"
#include "broker/daemon/daemon.h"
#include "broker/daemon/timeval.h"
#include "broker/shim_protocol.h"

_Static_assert(BH_SHIM_ORDER_FDS + BH_MOUNT_RULES_MAX <= BH_WIRE_FDS_MAX, "fit into one frame");

/* Making a spare costs a third of what an execution does, so while there are enough it waits until
 * an execution has ended, or else for a while. Where they are few it only lets what the turn let
 * out get under way. */
#define REFILL_LATER_US      50000
#define REFILL_SOON_US       500
#define FAILURE_DELAY_MS     100 /* doubled with each spare that fails in a row */
#define FAILURE_DELAY_MAX_MS 5000

/* What an answer to `adopt` may take. */
#define ADOPTION_SECONDS     10

static void lose(struct bh_live *live, const char *detail)
{
        struct bh_daemon *daemon = live->daemon;
        struct bh_error error = {0};
        bh_shim_free(live->shim);
        live->shim = NULL;
        int r = bh_shim_result_from_disk(live, &error);
        if (r != 0)
                return;
        if (daemon->seams->destroy(daemon, live->record->id, &error) < 0)
                bh_log_error("execution.destroy_failed", live->record->id, &error);
        bh_live_end(live, "lost", detail);
}

void bh_shim_give_up(struct bh_live *live, const char *detail)
{
        struct bh_pidref process = BH_PIDREF_NONE;
        /* By number and start time, which also finds one that an earlier broker started. */
        if (bh_pidref_reopen(live->record->shim_pid, live->record->shim_start_time, &process,
                             NULL) == 0)
                bh_pidref_signal(&process, SIGKILL, NULL);
        bh_pidref_clear(&process);
        lose(live, detail);
}

static void take_result(struct bh_shim *shim, const json_t *message)
{
        struct bh_live *live = shim->live;
        struct bh_error error = {0};
        if (live->record->state == BH_EXECUTION_ENDED)
                return;
        struct bh_executions *executions = &live->daemon->executions;
        if (bh_execution_apply_result(live->record, message, &error) < 0) {
                bh_log_error("shim.wrong_result", live->record->id, &error);
                lose(live, "its shim gave a result that cannot be read");
                return;
        }
        executions->active--;
        bh_live_ended(live);
}

static int take_state(struct bh_shim *shim, const struct bh_json_at *root, struct bh_error *error)
{
        struct bh_json_at state, at;
        const char *name = NULL;
        int64_t at_ms = 0;
        if (bh_json_require(root, "state", &state, error) < 0 ||
            bh_json_string(&state, 1, 32, &name, error) < 0 ||
            bh_json_require(root, "at_ms", &at, error) < 0 ||
            bh_json_integer(&at, 0, INT64_MAX, &at_ms, error) < 0)
                return -1;
        int value = bh_execution_state_by_name(name);
        if (value < 0)
                return bh_json_fail(&state, error, "unknown state");
        if (bh_json_member(root, "started_ms", &at) && !json_is_null(at.value) &&
            bh_json_integer(&at, 0, INT64_MAX, &at_ms, error) < 0)
                return -1;
        bh_live_set_state(shim->live, (enum bh_execution_state)value, at_ms);
        return 0;
}

static int take_output(struct bh_shim *shim, const struct bh_json_at *root, struct bh_error *error)
{
        struct bh_json_at out, err;
        int64_t kept_out = 0, kept_err = 0;
        if (bh_json_require(root, "stdout", &out, error) < 0 ||
            bh_json_require(root, "stderr", &err, error) < 0 ||
            bh_json_integer(&out, 0, INT64_MAX, &kept_out, error) < 0 ||
            bh_json_integer(&err, 0, INT64_MAX, &kept_err, error) < 0)
                return -1;
        bh_live_output(shim->live, kept_out, kept_err);
        return 0;
}

static void answered_adoption(struct bh_shim *shim)
{
        shim->adopted = true;
        if (shim->adoption)
                event_free(shim->adoption);
        shim->adoption = NULL;
        if (!LIST_EMPTY(&shim->live->watchers))
                bh_shim_watch(shim, true);
}

static int take_frame(struct bh_shim *shim, const json_t *message, struct bh_error *error)
{
        static const char *const types[] = {"state", "output", "status", "result", NULL};
        static const char *const state_members[] = {"type", "state", "at_ms", NULL};
        static const char *const output_members[] = {"type", "stdout", "stderr", NULL};
        static const char *const status_members[] = {"type", "state", "at_ms", "started_ms", NULL};
        struct bh_json_at root = BH_JSON_ROOT(message), at;
        int type = 0;
        if (bh_json_require(&root, "type", &at, error) < 0 ||
            bh_json_choice(&at, types, &type, error) < 0)
                return -1;
        if (!shim->live)
                return bh_error_set(error, BH_ERROR_PROTOCOL, "a spare shim spoke");
        switch (type) {
        case 0:
                return bh_json_object(&root, state_members, error) < 0
                               ? -1
                               : take_state(shim, &root, error);
        case 1:
                return bh_json_object(&root, output_members, error) < 0
                               ? -1
                               : take_output(shim, &root, error);
        case 2:
                if (bh_json_object(&root, status_members, error) < 0 ||
                    take_state(shim, &root, error) < 0)
                        return -1;
                answered_adoption(shim);
                return 0;
        default:
                take_result(shim, message);
                return 0;
        }
}

static void on_closed(void *data, const struct bh_error *error)
{
        struct bh_shim *shim = data;
        struct bh_daemon *daemon = shim->daemon;
        if (!shim->live) {
                daemon->shims.failures++;
                bh_log_error("shim.spare_ended", NULL, error);
                bh_shim_free(shim);
                bh_shims_refill(daemon);
                return;
        }
        struct bh_live *live = shim->live;
        if (live->record->state == BH_EXECUTION_ENDED) {
                /* The result is here and only waits for the store. */
                bh_shim_free(shim);
                live->shim = NULL;
                return;
        }
        lose(live, "its shim ended without a result");
}

static void on_frame(void *data, struct bh_frame *frame)
{
        struct bh_shim *shim = data;
        struct bh_error error = {0};
        if (take_frame(shim, frame->message, &error) == 0)
                return;
        bh_error_prefix(&error, "shim");
        bh_pidref_signal(&shim->process, SIGKILL, NULL);
        on_closed(shim, &error);
}

static const struct bh_link_events link_events = {.frame = on_frame, .closed = on_closed};

static struct bh_shim *shim_new_take(struct bh_daemon *daemon, int channel,
                                     struct bh_pidref *process)
{
        struct bh_shim *shim = bh_alloc(sizeof(*shim));
        shim->daemon = daemon;
        shim->process = *process;
        shim->link = bh_link_new_take(daemon->base, channel, &link_events, shim);
        return shim;
}

void bh_shim_free(struct bh_shim *shim)
{
        if (!shim)
                return;
        if (!shim->live) {
                TAILQ_REMOVE(&shim->daemon->shims.spares, shim, entry);
                shim->daemon->shims.spare_count--;
        }
        if (shim->adoption)
                event_free(shim->adoption);
        bh_link_free(shim->link);
        bh_pidref_clear(&shim->process);
        free(shim);
}

static struct bh_shim *make_spare(struct bh_daemon *daemon, struct bh_error *error)
{
        struct bh_pidref process = BH_PIDREF_NONE;
        int channel = -1;
        if (daemon->seams->spawn_shim(daemon, &channel, &process, error) < 0)
                return NULL;
        struct bh_shim *shim = shim_new_take(daemon, channel, &process);
        TAILQ_INSERT_TAIL(&daemon->shims.spares, shim, entry);
        daemon->shims.spare_count++;
        return shim;
}

static void refill_in(struct bh_daemon *daemon, int64_t delay_us)
{
        int failures = daemon->shims.failures < 6 ? daemon->shims.failures : 6;
        int64_t delay_ms = FAILURE_DELAY_MS << failures;
        if (failures > 0)
                delay_us =
                        1000 * (delay_ms < FAILURE_DELAY_MAX_MS ? delay_ms : FAILURE_DELAY_MAX_MS);
        const struct timeval delay = {.tv_sec = delay_us / 1000000, .tv_usec = delay_us % 1000000};
        event_add(daemon->shims.refill, &delay);
}

static void refill_later(struct bh_daemon *daemon)
{
        bool few = daemon->shims.spare_count < daemon->config->spares / 2;
        refill_in(daemon, few ? REFILL_SOON_US : REFILL_LATER_US);
}

static void on_refill(evutil_socket_t fd, short what, void *data)
{
        struct bh_daemon *daemon = data;
        struct bh_error error = {0};
        (void)fd;
        (void)what;
        if (daemon->draining || daemon->shims.spare_count >= daemon->config->spares)
                return;
        if (!make_spare(daemon, &error)) {
                daemon->shims.failures++;
                bh_log_error("shim.spawn_failed", NULL, &error);
        }
        refill_later(daemon);
}

int bh_shims_init(struct bh_daemon *daemon, struct bh_error *error)
{
        TAILQ_INIT(&daemon->shims.spares);
        daemon->shims.refill = event_new(daemon->base, -1, 0, on_refill, daemon);
        if (!daemon->shims.refill)
                return bh_error_set(error, BH_ERROR_INTERNAL, "make a timer");
        return 0;
}

void bh_shims_clear(struct bh_daemon *daemon)
{
        struct bh_shim *shim = TAILQ_FIRST(&daemon->shims.spares), *next = NULL;
        for (; shim; shim = next) {
                next = TAILQ_NEXT(shim, entry);
                bh_shim_free(shim);
        }
        if (daemon->shims.refill)
                event_free(daemon->shims.refill);
        daemon->shims.refill = NULL;
}

void bh_shims_refill(struct bh_daemon *daemon)
{
        refill_in(daemon, 0);
}

int bh_shim_assign(struct bh_live *live, struct bh_error *error)
{
        struct bh_daemon *daemon = live->daemon;
        struct bh_shim *shim = TAILQ_FIRST(&daemon->shims.spares); /* the one that is readiest */
        if (!shim)
                shim = make_spare(daemon, error);
        if (!shim)
                return bh_error_prefix(error, "start a shim");
        TAILQ_REMOVE(&daemon->shims.spares, shim, entry);
        daemon->shims.spare_count--;
        shim->live = live;
        live->shim = shim;
        live->record->shim_pid = shim->process.pid;
        live->record->shim_start_time = shim->process.start_time;
        refill_later(daemon);
        return 0;
}

static json_t *start_files(const struct bh_request *request)
{
        json_t *files = json_array();
        for (size_t i = 0; i < request->file_count; i++) {
                const struct bh_file_entry *file = &request->files[i];
                json_array_append_new(files,
                                      json_pack("{sssisIsI}", "path", file->path, "mode",
                                                (int)file->mode, "offset", (json_int_t)file->offset,
                                                "length", (json_int_t)file->length));
        }
        return files;
}

static json_t *start_frame(const struct bh_live *live, bool has_image)
{
        const struct bh_driver_host *paths = &live->daemon->paths;
        const struct bh_request *request = live->request;
        json_int_t uid = (json_int_t)paths->uid_base + 2 * (json_int_t)live->record->slot;
        json_t *input = json_null();
        if (request->has_stdin)
                input = json_pack("{sIsI}", "offset", (json_int_t)request->stdin_offset, "length",
                                  (json_int_t)request->stdin_length);
        return json_pack("{ss ss sO s{ss ss ss sI} s{sI sI} so so sb sb}", "type", "start",
                         "execution", live->record->id, "plan", live->plan, "host", "state_dir",
                         paths->state_dir, "run_dir", paths->run_dir, "cgroup_parent",
                         paths->cgroup_parent, "uid_base", (json_int_t)paths->uid_base, "instance",
                         "workload_uid", uid, "init_uid", uid + 1, "files", start_files(request),
                         "stdin", input, "payload", live->payload_fd >= 0, "workspace_image",
                         has_image);
}

/* Of the mounts: the shim has its own, once sent. */
struct sources {
        int fds[BH_MOUNT_RULES_MAX];
        size_t count;
};

static void close_sources(struct sources *sources)
{
        for (size_t i = 0; i < sources->count; i++)
                bh_close(sources->fds[i]);
}

int bh_shim_start(struct bh_live *live, struct bh_error *error)
{
        struct bh_daemon *daemon = live->daemon;
        _cleanup_close_ int image = -1;
        _cleanup_(close_sources) struct sources sources = {.count = 0};
        int fds[BH_SHIM_ORDER_FDS + BH_MOUNT_RULES_MAX];
        size_t count = 0;
        if (live->payload_fd >= 0)
                fds[count++] = live->payload_fd;
        if (live->record->workspace) {
                _cleanup_free_ char *path =
                        bh_format("%s/%s.img", live->record->tenant, live->record->workspace);
                image = bh_open_beneath(daemon->workspaces_fd, path, O_RDWR, 0, error);
                if (image < 0)
                        return -1;
                fds[count++] = image;
        }
        if (bh_mount_sources_open(daemon, live->plan, sources.fds, &sources.count, error) < 0)
                return -1;
        memcpy(fds + count, sources.fds, sources.count * sizeof(*fds));
        count += sources.count;
        _cleanup_json_ json_t *frame = start_frame(live, image >= 0);
        bh_link_send(live->shim->link, frame, fds, count);
        bh_request_free(live->request);
        live->request = NULL;
        live->payload_fd = bh_close(live->payload_fd);
        return 0;
}

void bh_shim_go(struct bh_live *live)
{
        struct bh_daemon *daemon = live->daemon;
        const int fds[] = {live->directory_fd, live->out_fd, live->err_fd};
        _cleanup_json_ json_t *frame = json_pack("{ss}", "type", "go");
        if (live->kill_outcome) /* first, so that the workload does not run at all */
                bh_shim_kill(live->shim, live->kill_outcome, live->kill_detail);
        bh_link_send(live->shim->link, frame, fds, sizeof(fds) / sizeof(fds[0]));
        bh_live_close_files(live);
        live->shim->started = true;
        daemon->shims.failures = 0;
        if (!LIST_EMPTY(&live->watchers))
                bh_shim_watch(live->shim, true);
}

static void on_adoption_late(evutil_socket_t fd, short what, void *data)
{
        struct bh_shim *shim = data;
        (void)fd;
        (void)what;
        bh_shim_give_up(shim->live, "its shim did not answer after the broker's restart");
}

void bh_shim_adopt_take(struct bh_live *live, int channel)
{
        struct bh_daemon *daemon = live->daemon;
        struct bh_pidref process = BH_PIDREF_NONE;
        struct timeval deadline = {.tv_sec = ADOPTION_SECONDS};
        struct bh_shim *shim = shim_new_take(daemon, channel, &process);
        shim->live = live;
        shim->started = true;
        live->shim = shim;
        shim->adoption = event_new(daemon->base, -1, 0, on_adoption_late, shim);
        if (!shim->adoption)
                bh_alloc_failed();
        event_add(shim->adoption, &deadline);
        _cleanup_json_ json_t *frame = json_pack("{ss}", "type", "adopt");
        bh_link_send(shim->link, frame, NULL, 0);
        if (live->kill_outcome)
                bh_shim_kill(shim, live->kill_outcome, live->kill_detail);
}

void bh_shim_kill(struct bh_shim *shim, const char *outcome, const char *detail)
{
        _cleanup_json_ json_t *frame =
                json_pack("{ssssss}", "type", "kill", "outcome", outcome, "detail", detail);
        bh_link_send(shim->link, frame, NULL, 0);
}

void bh_shim_watch(struct bh_shim *shim, bool on)
{
        if (!shim->started)
                return; /* it is told when its order goes out */
        _cleanup_json_ json_t *frame = json_pack("{sssb}", "type", "watch", "on", on);
        bh_link_send(shim->link, frame, NULL, 0);
}

void bh_shim_taken(struct bh_shim *shim)
{
        _cleanup_json_ json_t *frame = json_pack("{ss}", "type", "taken");
        bh_link_send(shim->link, frame, NULL, 0);
        bh_shims_refill(shim->daemon); /* from the loop, when the reply is out, too */
}
