/* See files.h. A helper starts at the end of the turn, when the audit log has what it is for. */
#include "broker/daemon/files.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/spawn.h"
#include "broker/daemon/admission.h"
#include "broker/daemon/cursor.h"
#include "broker/daemon/daemon.h"
#include "broker/daemon/dispatch.h"
#include "broker/daemon/workspaces.h"
#include "broker/files_protocol.h"
#include "policy/request.h"

#define JOBS_MAX 64                /* processes at a time, all tenants together */
#define TEXT_MAX ((size_t)8 << 10) /* of a request target; too long a path is told as such */

struct bh_files_job {
        struct bh_daemon *daemon;
        LIST_ENTRY(bh_files_job) entry;
        struct bh_call *call; /* until it is answered; NULL when nobody waits */
        char *tenant, *workspace;
        bool writes;
        int request_fd, image_fd, spool_fd; /* until the helper has them */
        int release_fd;                     /* hangs up when nothing is written any more */
        struct bh_pidref process;
        struct event *ended;
};

static void free_job(struct bh_files_job *job)
{
        LIST_REMOVE(job, entry);
        job->daemon->files.count--;
        if (job->ended)
                event_free(job->ended);
        bh_pidref_clear(&job->process);
        bh_close(job->request_fd);
        bh_close(job->image_fd);
        bh_close(job->spool_fd);
        bh_close(job->release_fd);
        free(job->tenant);
        free(job->workspace);
        free(job);
}

static bool still_writes(const struct bh_files_job *job)
{
        struct pollfd release = {.fd = job->release_fd};
        if (!job->writes)
                return false;
        /* Without a descriptor it has not begun. */
        return job->release_fd < 0 || poll(&release, 1, 0) == 0;
}

bool bh_files_writes(const struct bh_daemon *daemon, const char *tenant, const char *workspace)
{
        const struct bh_files_job *job = NULL;
        LIST_FOREACH (job, &daemon->files.all, entry)
                if (strcmp(job->workspace, workspace) == 0 && strcmp(job->tenant, tenant) == 0 &&
                    still_writes(job))
                        return true;
        return false;
}

void bh_files_clear(struct bh_daemon *daemon)
{
        struct bh_files_job *next = NULL;
        for (struct bh_files_job *job = LIST_FIRST(&daemon->files.all); job; job = next) {
                next = LIST_NEXT(job, entry);
                bh_pidref_signal(&job->process, SIGKILL, NULL);
                free_job(job);
        }
}

static void on_ended(evutil_socket_t fd, short what, void *data)
{
        struct bh_files_job *job = data;
        struct bh_error error = {0};
        int code = 0, status = 0;
        (void)fd;
        (void)what;
        int r = bh_pidref_wait(&job->process, false, &code, &status, &error);
        if (r == 0)
                return;
        if (r < 0)
                bh_log_error("files.not_reaped", job->workspace, &error);
        else if (code != CLD_EXITED)
                bh_log_take(BH_LOG_WARNING, "files.killed",
                            json_pack("{sssi}", "workspace", job->workspace, "signal", status));
        free_job(job);
}

/* The client went before the helper was there. The job itself ends with its process. */
static void on_gone(struct bh_call *call, void *data)
{
        struct bh_files_job *job = data;
        (void)call;
        job->call = NULL;
}

static int spawn(struct bh_files_job *job, int transfer, int release, struct bh_error *error)
{
        _cleanup_free_ char *path = NULL;
        char *argv[] = {(char[]){"bulkhead-files"}, NULL};
        struct bh_spawn_fd fds[] = {{job->request_fd, BH_FILES_REQUEST_FD},
                                    {transfer, BH_FILES_TRANSFER_FD},
                                    {job->image_fd, BH_FILES_IMAGE_FD},
                                    {release, BH_FILES_RELEASE_FD},
                                    {job->spool_fd, BH_FILES_SPOOL_FD}};
        struct bh_spawn request = {
                .argv = argv, .fds = fds, .fd_count = job->spool_fd < 0 ? 4 : 5, .new_session = 1};
        if (bh_helper_path("bulkhead-files", &path, error) < 0)
                return -1;
        request.path = path;
        return bh_spawn(&request, &job->process, error);
}

/* Starts the helper and answers with the other end of its socket. */
static int start(struct bh_files_job *job, struct bh_error *error)
{
        int transfer[2], release[2];
        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, transfer) < 0)
                return bh_error_errno(error, errno, "make a transfer");
        _cleanup_close_ int ours = transfer[0];
        _cleanup_close_ int theirs = transfer[1];
        if (pipe2(release, O_CLOEXEC) < 0)
                return bh_error_errno(error, errno, "make a pipe");
        job->release_fd = release[0];
        _cleanup_close_ int release_end = release[1];
        if (spawn(job, theirs, release_end, error) < 0)
                return bh_error_prefix(error, "start bulkhead-files");
        job->request_fd = bh_close(job->request_fd);
        job->image_fd = bh_close(job->image_fd);
        job->spool_fd = bh_close(job->spool_fd);
        job->ended = event_new(job->daemon->base, job->process.pidfd, EV_READ | EV_PERSIST,
                               on_ended, job);
        if (!job->ended || event_add(job->ended, NULL) < 0)
                bh_alloc_failed();
        bh_call_attach_take(job->call, bh_steal_fd(&ours));
        bh_call_reply_take(job->call, 200, NULL);
        job->call = NULL;
        return 0;
}

static void on_committed(void *data, bool committed)
{
        struct bh_files_job *job = data;
        struct bh_error error = {0};
        if (!committed && job->call)
                bh_error_refused(&error, "store_failed", "", "the store cannot be written");
        else if (job->call && start(job, &error) == 0)
                return;
        if (job->call)
                bh_call_fail(job->call, &error);
        free_job(job);
}

/* ---- Requests ---- */

struct wish {
        const char *path, *cursor;
        int64_t limit;
};

static int decode_path(const struct bh_call *call, const struct bh_json_at *params,
                       const char **ret, struct bh_error *error)
{
        struct bh_json_at at;
        bool optional = call->op == BH_OP_TREE_GET;
        if (!bh_json_member(params, "path", &at) && optional)
                return 0;
        if (bh_json_require(params, "path", &at, error) < 0 ||
            bh_json_string(&at, 0, TEXT_MAX, ret, error) < 0)
                return -1;
        if (!bh_relative_path_valid(*ret))
                return bh_error_refused(error, "path_not_allowed", "",
                                        "a path is relative and has no empty, \".\" or \"..\" "
                                        "component and no control character");
        return 0;
}

static int decode(const struct bh_call *call, struct wish *ret, struct bh_error *error)
{
        static const char *const of_file[] = {"workspace", "path", "tenant", NULL};
        static const char *const of_tree[] = {"workspace", "path",   "limit",
                                              "cursor",    "tenant", NULL};
        static const char *const of_archive[] = {"workspace", "tenant", NULL};
        struct bh_json_at params = BH_JSON_ROOT(call->params), at;
        bool archive = call->op == BH_OP_ARCHIVE_GET || call->op == BH_OP_ARCHIVE_PUT;
        const char *const *members = archive                      ? of_archive
                                     : call->op == BH_OP_TREE_GET ? of_tree
                                                                  : of_file;
        *ret = (struct wish){"", "", BH_LIMIT_DEFAULT_ITEMS};
        if (bh_json_object(&params, members, error) < 0)
                return -1;
        if (!archive && decode_path(call, &params, &ret->path, error) < 0)
                return -1;
        if (bh_json_member(&params, "limit", &at) &&
            bh_json_integer(&at, 1, BH_LIMIT_MAX_ITEMS, &ret->limit, error) < 0)
                return -1;
        if (bh_json_member(&params, "cursor", &at) &&
            bh_json_string(&at, 1, TEXT_MAX, &ret->cursor, error) < 0)
                return -1;
        return 0;
}

static int encode(const struct bh_call *call, const struct bh_workspace_row *row,
                  const struct wish *wish, struct bh_error *error)
{
        _cleanup_json_ json_t *request =
                json_pack("{sssssIsIss}", "op", bh_op_name(call->op), "path", wish->path,
                          "disk_bytes", (json_int_t)row->disk_bytes, "limit",
                          (json_int_t)wish->limit, "cursor", wish->cursor);
        _cleanup_free_ char *text = bh_json_text(request);
        return bh_memfd_sealed("files", text, strlen(text), error);
}

static int check_free(struct bh_daemon *daemon, const struct bh_workspace_row *row, bool writes,
                      struct bh_error *error)
{
        if (daemon->files.count >= JOBS_MAX)
                return bh_error_refused(error, "too_many_transfers", "",
                                        "%d transfers are under way", JOBS_MAX);
        /* Readers share one super block with a writer, and see what it sees. */
        if (writes && bh_workspace_user(daemon, row->tenant, row->name, true))
                return bh_error_refused(error, "workspace_busy", "", "workspace %s is in use",
                                        row->name);
        return 0;
}

static void record(struct bh_call *call, const struct bh_workspace_row *row,
                   const struct wish *wish)
{
        _cleanup_free_ char *action = bh_format("workspace.%s", bh_op_name(call->op));
        bh_audit_add_take(call->daemon->audit, call->actor, action,
                          json_pack("{ssss}", "workspace", row->name, "tenant", row->tenant),
                          wish->path[0] ? json_pack("{ss}", "path", wish->path) : NULL);
}

static struct bh_files_job *new_job(struct bh_call *call, const struct bh_workspace_row *row,
                                    bool writes)
{
        struct bh_files_job *job = bh_alloc(sizeof(*job));
        job->daemon = call->daemon;
        job->call = call;
        job->tenant = bh_strdup(row->tenant);
        job->workspace = bh_strdup(row->name);
        job->writes = writes;
        job->request_fd = job->image_fd = job->spool_fd = job->release_fd = -1;
        job->process = BH_PIDREF_NONE;
        LIST_INSERT_HEAD(&job->daemon->files.all, job, entry);
        job->daemon->files.count++;
        return job;
}

static int open_spool(struct bh_daemon *daemon, struct bh_error *error)
{
        int fd = openat(daemon->state_fd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC | O_EXCL, 0600);
        return fd < 0 ? bh_error_errno(error, errno, "make room for an archive") : fd;
}

int bh_handle_files(struct bh_call *call, struct bh_error *error)
{
        struct bh_daemon *daemon = call->daemon;
        struct bh_json_at params = BH_JSON_ROOT(call->params);
        _cleanup_(bh_workspace_row_cleanup) struct bh_workspace_row *row = NULL;
        bool writes = call->op == BH_OP_FILE_PUT || call->op == BH_OP_FILE_DELETE ||
                      call->op == BH_OP_ARCHIVE_PUT;
        struct wish wish;
        if (decode(call, &wish, error) < 0 || bh_workspace_load(call, &params, &row, error) < 0 ||
            check_free(daemon, row, writes, error) < 0)
                return -1;
        _cleanup_close_ int request = encode(call, row, &wish, error);
        _cleanup_close_ int image = request < 0 ? -1 : bh_workspace_open(daemon, row, error);
        _cleanup_close_ int spool = -1;
        if (image < 0)
                return -1;
        if (call->op == BH_OP_ARCHIVE_PUT && (spool = open_spool(daemon, error)) < 0)
                return -1;
        struct bh_files_job *job = new_job(call, row, writes);
        job->request_fd = bh_steal_fd(&request);
        job->image_fd = bh_steal_fd(&image);
        job->spool_fd = bh_steal_fd(&spool);
        if (writes)
                record(call, row, &wish);
        bh_call_hold(call, on_gone, job);
        bh_turn_after(&daemon->turn, BH_TURN_ORDER, on_committed, job);
        return 0;
}
