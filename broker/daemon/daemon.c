/* Wiring of the parts, signals, the loop, and the way down. */
#include "broker/daemon/daemon.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "broker/daemon/retier.h"
#include "broker/daemon/timeval.h"
#include "broker/daemon/workspaces.h"
#include "drivers/kernel/cgroup.h"

#define DRAIN_MS 5000 /* for replies to be taken, and kills to be seen through */

static void on_stop(evutil_socket_t signal, short what, void *data)
{
        (void)signal;
        (void)what;
        bh_daemon_drain(data);
}

static void on_hangup(evutil_socket_t signal, short what, void *data)
{
        (void)signal;
        (void)what;
        bh_daemon_reload(data);
}

/* Shims, the API, and orphans of both, since the broker is a subreaper. Their ends are noticed
 * on their channels; here they are only reaped. */
static void on_child(evutil_socket_t signal, short what, void *data)
{
        (void)signal;
        (void)what;
        (void)data;
        while (waitpid(-1, NULL, WNOHANG) > 0)
                ;
}

static void on_minute(evutil_socket_t fd, short what, void *data)
{
        (void)fd;
        (void)what;
        bh_daemon_retain(data);
        bh_api_send_principals(data); /* without those that have expired */
}

static void on_retry(evutil_socket_t fd, short what, void *data)
{
        (void)fd;
        (void)what;
        bh_daemon_retry(data); /* the end of this turn, as of every one, stores what is behind */
}

static void on_sync(evutil_socket_t fd, short what, void *data)
{
        (void)fd;
        (void)what;
        bh_daemon_sync_audit(data);
}

static int make_events(struct bh_daemon *daemon, struct bh_error *error)
{
        const struct timeval minute = {.tv_sec = 60};
        daemon->base = event_base_new();
        if (!daemon->base)
                return bh_error_set(error, BH_ERROR_INTERNAL, "make an event loop");
        daemon->minutely = event_new(daemon->base, -1, EV_PERSIST, on_minute, daemon);
        daemon->retry = event_new(daemon->base, -1, 0, on_retry, daemon);
        daemon->audit_sync = event_new(daemon->base, -1, 0, on_sync, daemon);
        if (!daemon->minutely || !daemon->retry || !daemon->audit_sync ||
            event_add(daemon->minutely, &minute) < 0)
                return bh_error_set(error, BH_ERROR_INTERNAL, "make a timer");
        if (bh_shims_init(daemon, error) < 0 || bh_api_init(daemon, error) < 0)
                return -1;
        return 0;
}

static int handle_signals(struct bh_daemon *daemon, struct bh_error *error)
{
        static const struct {
                int signal;
                event_callback_fn handler;
        } handled[] = {
                {SIGTERM, on_stop}, {SIGINT, on_stop}, {SIGHUP, on_hangup}, {SIGCHLD, on_child}};
        for (size_t i = 0; i < sizeof(handled) / sizeof(handled[0]); i++) {
                daemon->signals[i] =
                        evsignal_new(daemon->base, handled[i].signal, handled[i].handler, daemon);
                if (!daemon->signals[i] || event_add(daemon->signals[i], NULL) < 0)
                        return bh_error_set(error, BH_ERROR_INTERNAL, "handle signals");
        }
        signal(SIGPIPE, SIG_IGN);
        return 0;
}

static int open_beneath_state(struct bh_daemon *daemon, const char *name, int *ret,
                              struct bh_error *error)
{
        if (mkdirat(daemon->state_fd, name, 0700) < 0 && errno != EEXIST)
                return bh_error_errno(error, errno, "make %s", name);
        *ret = bh_open_beneath(daemon->state_fd, name, O_RDONLY | O_DIRECTORY, 0, error);
        return *ret < 0 ? -1 : 0;
}

static int lock_state(struct bh_daemon *daemon, struct bh_error *error)
{
        struct stat st;
        char real[PATH_MAX];
        daemon->state_fd = bh_make_directory(daemon->config->state_dir, 0700, error);
        if (daemon->state_fd < 0)
                return bh_error_prefix(error, "state directory");
        if (fstat(daemon->state_fd, &st) < 0 || !realpath(daemon->config->state_dir, real))
                return bh_error_errno(error, errno, "state directory");
        if (st.st_uid != geteuid() || (st.st_mode & 0022))
                return bh_error_set(error, BH_ERROR_REFUSED,
                                    "state directory %s belongs to or may be written by another",
                                    real);
        if (fchmod(daemon->state_fd, 0700) < 0)
                return bh_error_errno(error, errno, "state directory %s", real);
        daemon->paths.state_dir = bh_strdup(real);
        daemon->lock_fd =
                openat(daemon->state_fd, "lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (daemon->lock_fd < 0)
                return bh_error_errno(error, errno, "lock %s", real);
        if (flock(daemon->lock_fd, LOCK_EX | LOCK_NB) < 0)
                return bh_error_set(error, BH_ERROR_CONFLICT, "another broker runs on %s", real);
        return 0;
}

static int open_paths(struct bh_daemon *daemon, struct bh_error *error)
{
        char hex[BH_SHA256_HEX_SIZE], real[PATH_MAX];
        _cleanup_close_ int run = bh_make_directory(daemon->config->run_dir, 0755, error);
        if (run < 0)
                return bh_error_prefix(error, "run directory");
        if (!realpath(daemon->config->run_dir, real))
                return bh_error_errno(error, errno, "run directory");
        daemon->paths.run_dir = bh_strdup(real);
        daemon->paths.uid_base = daemon->config->uid_base;
        bh_sha256_hex(daemon->paths.state_dir, strlen(daemon->paths.state_dir), hex);
        daemon->paths.cgroup_parent = bh_format("bulkhead.%.8s", hex);
        if (open_beneath_state(daemon, "audit", &daemon->audit_fd, error) < 0 ||
            open_beneath_state(daemon, "executions", &daemon->executions_fd, error) < 0 ||
            open_beneath_state(daemon, "workspaces", &daemon->workspaces_fd, error) < 0)
                return -1;
        return 0;
}

static int restore_entry(int64_t sequence, const char *line, void *data, struct bh_error *error)
{
        return bh_audit_restore(data, sequence, line, error);
}

/* The log, with what a crash kept from its file. */
static int open_audit(struct bh_daemon *daemon, struct bh_error *error)
{
        int64_t cut_bytes = 0;
        if (bh_audit_open(daemon->audit_fd, BH_AUDIT_FILE_MAX, &daemon->audit, &cut_bytes, error) <
                    0 ||
            bh_store_audit_staged(daemon->store, restore_entry, daemon->audit, error) < 0 ||
            bh_audit_write(daemon->audit, error) < 0 || bh_audit_sync(daemon->audit, error) < 0)
                return -1;
        daemon->audit_synced = bh_audit_written(daemon->audit);
        if (cut_bytes > 0)
                bh_audit_add_take(daemon->audit, "broker", "audit.repaired", NULL,
                                  json_pack("{sI}", "cut_bytes", (json_int_t)cut_bytes));
        return 0;
}

static int open_records(struct bh_daemon *daemon, struct bh_error *error)
{
        _cleanup_free_ char *path = bh_format("%s/bulkhead.db", daemon->paths.state_dir);
        _cleanup_close_ int tokens = -1;
        if (bh_store_open(path, &daemon->store, error) < 0 || open_audit(daemon, error) < 0 ||
            open_beneath_state(daemon, "tokens", &tokens, error) < 0)
                return -1;
        int made = bh_tokens_bootstrap(daemon->store, tokens, error);
        if (made < 0)
                return -1;
        if (made > 0)
                bh_audit_add_take(
                        daemon->audit, "broker", "tokens.created", NULL,
                        json_pack("{s[sss]}", "names", "operator", "orchestrator", "auditor"));
        bh_daemon_commit(daemon);
        if (daemon->store_failed)
                return bh_error_set(error, BH_ERROR_INTERNAL, "the store cannot be written");
        return bh_tokens_load(&daemon->tokens, daemon->store, error);
}

int bh_daemon_new_take(struct bh_config *config, struct bh_policy *policy,
                       const struct bh_seams *seams, struct bh_daemon **ret, struct bh_error *error)
{
        _cleanup_(bh_daemon_cleanup) struct bh_daemon *daemon = bh_alloc(sizeof(*daemon));
        daemon->config = config;
        daemon->policy = policy;
        daemon->seams = seams;
        daemon->lock_fd = daemon->state_fd = daemon->audit_fd = -1;
        daemon->executions_fd = daemon->workspaces_fd = -1;
        daemon->api.process = BH_PIDREF_NONE;
        LIST_INIT(&daemon->calls);
        bh_slots_init(&daemon->slots);
        bh_executions_init(&daemon->executions);
        if (make_events(daemon, error) < 0 || lock_state(daemon, error) < 0 ||
            open_paths(daemon, error) < 0 || open_records(daemon, error) < 0)
                return -1;
        if (bh_daemon_probe(daemon, error) < 0)
                return -1;
        *ret = bh_steal_ptr(&daemon);
        return 0;
}

static void free_events(struct bh_daemon *daemon)
{
        for (size_t i = 0; i < sizeof(daemon->signals) / sizeof(daemon->signals[0]); i++)
                if (daemon->signals[i])
                        event_free(daemon->signals[i]);
        if (daemon->minutely)
                event_free(daemon->minutely);
        if (daemon->retry)
                event_free(daemon->retry);
        if (daemon->audit_sync)
                event_free(daemon->audit_sync);
        if (daemon->drain_timer)
                event_free(daemon->drain_timer);
        if (daemon->base)
                event_base_free(daemon->base);
}

void bh_daemon_free(struct bh_daemon *daemon)
{
        if (!daemon)
                return;
        if (daemon->base)
                bh_api_clear(daemon);
        bh_turn_run(&daemon->turn, false);
        while (!TAILQ_EMPTY(&daemon->executions.all))
                bh_live_free(TAILQ_FIRST(&daemon->executions.all));
        bh_files_clear(daemon);
        bh_shims_clear(daemon);
        bh_listeners_close(&daemon->listeners);
        bh_tokens_clear(&daemon->tokens);
        bh_turn_clear(&daemon->turn);
        bh_audit_free(daemon->audit);
        bh_store_free(daemon->store);
        bh_host_clear(&daemon->host);
        free_events(daemon);
        bh_close(daemon->workspaces_fd);
        bh_close(daemon->executions_fd);
        bh_close(daemon->audit_fd);
        bh_close(daemon->state_fd);
        bh_close(daemon->lock_fd);
        free(daemon->paths.state_dir);
        free(daemon->paths.run_dir);
        free(daemon->paths.cgroup_parent);
        bh_policy_free(daemon->policy);
        bh_config_free(daemon->config);
        free(daemon);
}

void bh_daemon_turn(struct bh_daemon *daemon, bool block)
{
        if (event_base_loop(daemon->base, EVLOOP_ONCE | (block ? 0 : EVLOOP_NONBLOCK)) < 0)
                daemon->stopping = true;
        bh_daemon_commit(daemon);
}

/* Gives up on whoever did not take its reply. */
static void on_drain_time(evutil_socket_t fd, short what, void *data)
{
        struct bh_daemon *daemon = data;
        (void)fd;
        (void)what;
        daemon->stopping = true;
}

void bh_daemon_drain(struct bh_daemon *daemon)
{
        const struct timeval time = bh_timeval_ms(DRAIN_MS);
        if (daemon->draining)
                return;
        daemon->draining = true;
        daemon->drain_timer = event_new(daemon->base, -1, 0, on_drain_time, daemon);
        if (!daemon->drain_timer || !daemon->api.link) {
                daemon->stopping = true;
                return;
        }
        event_add(daemon->drain_timer, &time);
        bh_api_drain(daemon);
        bh_executions_answer_waiters(daemon);
}

static int start(struct bh_daemon *daemon, struct bh_error *error)
{
        if (handle_signals(daemon, error) < 0 ||
            bh_listeners_open(daemon->config, &daemon->listeners, error) < 0 ||
            bh_workspaces_sweep(daemon, error) < 0 || bh_daemon_reclaim(daemon, error) < 0)
                return -1;
        bh_audit_add_take(daemon->audit, "broker", "broker.started", NULL,
                          json_pack("{sssoso}", "policy_digest", daemon->policy->digest, "listen",
                                    bh_listeners_encode(&daemon->listeners), "affected",
                                    bh_retier_all(daemon)));
        bh_daemon_retain(daemon);
        bh_daemon_commit(daemon);
        bh_shims_refill(daemon);
        return bh_api_start(daemon, error);
}

int bh_daemon_run(struct bh_daemon *daemon, struct bh_error *error)
{
        if (start(daemon, error) < 0)
                return -1;
        while (!daemon->stopping)
                bh_daemon_turn(daemon, true);
        bh_audit_add_take(daemon->audit, "broker", "broker.stopped", NULL, NULL);
        bh_daemon_commit(daemon);
        bh_daemon_sync_audit(daemon);
        /* With executions under way it is not empty, and stays for the next start. */
        (void)bh_cgroup_uninstall(&daemon->paths, NULL);
        return 0;
}
