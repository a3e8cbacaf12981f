/* The operations on named workspaces. */
#include "broker/daemon/workspaces.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "broker/daemon/admission.h"
#include "broker/daemon/cursor.h"
#include "broker/daemon/daemon.h"
#include "broker/daemon/dispatch.h"
#include "broker/daemon/files.h"
#include "drivers/kernel/image.h"

#define DISK_BYTES_MAX ((int64_t)1 << 40)
#define SUFFIX         ".img"

/* Whoever is uid 1000 inside owns what it wrote, whichever host uid it had that time: on the
 * image the inside uid is stored, and the mount maps it. */
#define INSIDE_ID      1000

static int open_tenant(struct bh_daemon *daemon, const char *tenant, struct bh_error *error)
{
        if (mkdirat(daemon->workspaces_fd, tenant, 0700) < 0 && errno != EEXIST)
                return bh_error_errno(error, errno, "make the tenant's directory");
        return bh_open_beneath(daemon->workspaces_fd, tenant, O_RDONLY | O_DIRECTORY, 0, error);
}

static int64_t allocated_bytes(struct bh_daemon *daemon, const struct bh_workspace_row *row)
{
        struct stat st = {0};
        _cleanup_free_ char *path = bh_format("%s/%s" SUFFIX, row->tenant, row->name);
        if (fstatat(daemon->workspaces_fd, path, &st, AT_SYMLINK_NOFOLLOW) < 0)
                return 0;
        return (int64_t)st.st_blocks * 512; /* stat(2): units of 512 bytes */
}

static json_t *encode(struct bh_daemon *daemon, const struct bh_workspace_row *row)
{
        char created[BH_TIME_TEXT_SIZE];
        json_t *users = json_array();
        struct bh_live *live = NULL;
        bh_time_format(row->created_ms, created);
        TAILQ_FOREACH (live, &daemon->executions.all, order) {
                const struct bh_execution *record = live->record;
                if (record->state != BH_EXECUTION_ENDED && record->workspace &&
                    strcmp(record->workspace, row->name) == 0 &&
                    strcmp(record->tenant, row->tenant) == 0)
                        json_array_append_new(users, json_string(record->id));
        }
        return json_pack("{ssss sI sI so ss}", "workspace", row->name, "tenant", row->tenant,
                         "disk_bytes", (json_int_t)row->disk_bytes, "allocated_bytes",
                         (json_int_t)allocated_bytes(daemon, row), "executions", users,
                         "created_at", created);
}

static int decode_name(const struct bh_json_at *params, const char **ret, struct bh_error *error)
{
        struct bh_json_at at;
        if (bh_json_require(params, "workspace", &at, error) < 0)
                return -1;
        return bh_name_decode(&at, ret, error);
}

int bh_workspace_load(struct bh_call *call, const struct bh_json_at *params,
                      struct bh_workspace_row **ret, struct bh_error *error)
{
        const char *tenant = NULL, *name = NULL;
        if (bh_call_tenant(call, false, &tenant, error) < 0 ||
            decode_name(params, &name, error) < 0)
                return -1;
        int r = bh_store_workspace_get(call->daemon->store, tenant, name, ret, error);
        if (r == 0)
                return bh_error_set(error, BH_ERROR_NOT_FOUND, "there is no workspace %s", name);
        return r < 0 ? -1 : 0;
}

int bh_workspace_open(struct bh_daemon *daemon, const struct bh_workspace_row *row,
                      struct bh_error *error)
{
        _cleanup_free_ char *path = bh_format("%s/%s" SUFFIX, row->tenant, row->name);
        return bh_open_beneath(daemon->workspaces_fd, path, O_RDWR, 0, error);
}

static json_t *subject(const struct bh_workspace_row *row)
{
        return json_pack("{ssss}", "workspace", row->name, "tenant", row->tenant);
}

/* A file to be removed once the store agrees, or once it does not. */
struct removal {
        char *path;
        int directory; /* borrowed */
        bool when_committed;
};

static void remove_file(void *data, bool committed)
{
        struct removal *removal = data;
        if (committed == removal->when_committed)
                unlinkat(removal->directory, removal->path, 0);
        free(removal->path);
        free(removal);
}

static void remove_later(struct bh_daemon *daemon, const struct bh_workspace_row *row,
                         bool when_committed)
{
        struct removal *removal = bh_alloc(sizeof(*removal));
        removal->path = bh_format("%s/%s" SUFFIX, row->tenant, row->name);
        removal->directory = daemon->workspaces_fd;
        removal->when_committed = when_committed;
        bh_turn_after(&daemon->turn, BH_TURN_ORDER, remove_file, removal);
}

static int create(struct bh_call *call, const char *tenant, const char *name, int64_t disk_bytes,
                  struct bh_error *error)
{
        struct bh_daemon *daemon = call->daemon;
        _cleanup_(bh_workspace_row_cleanup) struct bh_workspace_row *row = bh_alloc(sizeof(*row));
        _cleanup_free_ char *file = bh_format("%s" SUFFIX, name);
        _cleanup_close_ int directory = open_tenant(daemon, tenant, error);
        row->tenant = bh_strdup(tenant);
        row->name = bh_strdup(name);
        row->disk_bytes = disk_bytes;
        row->created_ms = bh_realtime_ms();
        if (directory < 0 || bh_store_workspace_add(daemon->store, row, error) < 0)
                return -1;
        if (bh_image_make(directory, file, disk_bytes, INSIDE_ID, INSIDE_ID, error) < 0) {
                struct bh_error undo = {0};
                if (bh_store_workspace_delete(daemon->store, tenant, name, &undo) < 0)
                        bh_log_error("workspace.undo_failed", name, &undo);
                return -1;
        }
        remove_later(daemon, row, false);
        bh_audit_add_take(daemon->audit, call->actor, "workspace.created", subject(row),
                          json_pack("{sI}", "disk_bytes", (json_int_t)disk_bytes));
        bh_call_reply_take(call, 201, encode(daemon, row));
        return 0;
}

int bh_handle_workspace_put(struct bh_call *call, struct bh_error *error)
{
        static const char *const members[] = {"workspace", "body", "tenant", NULL};
        static const char *const body_members[] = {"disk_bytes", NULL};
        struct bh_json_at params = BH_JSON_ROOT(call->params), at;
        _cleanup_(bh_workspace_row_cleanup) struct bh_workspace_row *row = NULL;
        const char *tenant = NULL, *name = NULL;
        int64_t disk_bytes = 0;
        if (bh_json_object(&params, members, error) < 0 ||
            bh_call_tenant(call, false, &tenant, error) < 0 ||
            decode_name(&params, &name, error) < 0 ||
            bh_json_require(&params, "body", &at, error) < 0)
                return -1;
        struct bh_json_at body = BH_JSON_ROOT(at.value), bytes;
        if (bh_json_object(&body, body_members, error) < 0 ||
            bh_json_require(&body, "disk_bytes", &bytes, error) < 0 ||
            bh_json_integer(&bytes, BH_IMAGE_BYTES_MIN, DISK_BYTES_MAX, &disk_bytes, error) < 0)
                return -1;
        int r = bh_store_workspace_get(call->daemon->store, tenant, name, &row, error);
        if (r < 0)
                return -1;
        if (r == 0)
                return create(call, tenant, name, disk_bytes, error);
        if (row->disk_bytes != disk_bytes)
                return bh_error_refused(error, "workspace_differs", "/disk_bytes",
                                        "workspace %s has %lld bytes; a size is for good", name,
                                        (long long)row->disk_bytes);
        bh_call_reply_take(call, 200, encode(call->daemon, row));
        return 0;
}

int bh_handle_workspace_get(struct bh_call *call, struct bh_error *error)
{
        static const char *const members[] = {"workspace", "tenant", NULL};
        struct bh_json_at params = BH_JSON_ROOT(call->params);
        _cleanup_(bh_workspace_row_cleanup) struct bh_workspace_row *row = NULL;
        if (bh_json_object(&params, members, error) < 0 ||
            bh_workspace_load(call, &params, &row, error) < 0)
                return -1;
        bh_call_reply_take(call, 200, encode(call->daemon, row));
        return 0;
}

int bh_handle_workspace_delete(struct bh_call *call, struct bh_error *error)
{
        static const char *const members[] = {"workspace", "tenant", NULL};
        struct bh_daemon *daemon = call->daemon;
        struct bh_json_at params = BH_JSON_ROOT(call->params);
        _cleanup_(bh_workspace_row_cleanup) struct bh_workspace_row *row = NULL;
        if (bh_json_object(&params, members, error) < 0 ||
            bh_workspace_load(call, &params, &row, error) < 0)
                return -1;
        if (bh_workspace_user(daemon, row->tenant, row->name, true) ||
            bh_files_writes(daemon, row->tenant, row->name))
                return bh_error_refused(error, "workspace_busy", "", "workspace %s is in use",
                                        row->name);
        if (bh_store_workspace_delete(daemon->store, row->tenant, row->name, error) < 0)
                return -1;
        remove_later(daemon, row, true);
        bh_audit_add_take(daemon->audit, call->actor, "workspace.deleted", subject(row), NULL);
        bh_call_reply_take(call, 204, NULL);
        return 0;
}

struct listing {
        struct bh_daemon *daemon;
        struct bh_page page;
};

static int collect(const struct bh_workspace_row *row, void *data, struct bh_error *error)
{
        struct listing *listing = data;
        const char *key[] = {row->tenant, row->name};
        (void)error;
        return bh_page_add_take(&listing->page, encode(listing->daemon, row), key);
}

int bh_handle_workspace_list(struct bh_call *call, struct bh_error *error)
{
        static const char *const members[] = {"limit", "cursor", "tenant", NULL};
        struct bh_json_at params = BH_JSON_ROOT(call->params);
        struct listing listing = {.daemon = call->daemon};
        const char *tenant = NULL;
        if (bh_json_object(&params, members, error) < 0 ||
            bh_call_tenant(call, true, &tenant, error) < 0 ||
            bh_page_begin(&listing.page, &params, 2, error) < 0)
                return -1;
        char *const *after = listing.page.after;
        int r = bh_store_workspace_list(call->daemon->store, tenant, after[0] ? after[0] : "",
                                        after[1] ? after[1] : "", collect, &listing, error);
        if (r == 0)
                bh_call_reply_take(call, 200, bh_page_finish(&listing.page));
        bh_page_clear(&listing.page);
        return r;
}

static void close_stream(DIR **stream)
{
        if (*stream)
                closedir(*stream);
}

static int sweep_tenant(struct bh_daemon *daemon, const char *tenant, struct bh_error *error)
{
        int fd = bh_open_beneath(daemon->workspaces_fd, tenant, O_RDONLY | O_DIRECTORY, 0, error);
        if (fd < 0)
                return -1;
        _cleanup_(close_stream) DIR *stream = fdopendir(fd);
        if (!stream) {
                bh_close(fd);
                return bh_error_errno(error, errno, "list %s", tenant);
        }
        for (struct dirent *entry = readdir(stream); entry; entry = readdir(stream)) {
                _cleanup_(bh_workspace_row_cleanup) struct bh_workspace_row *row = NULL;
                size_t length = strlen(entry->d_name);
                if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
                        continue;
                _cleanup_free_ char *name = bh_strndup(
                        entry->d_name, length > strlen(SUFFIX) ? length - strlen(SUFFIX) : length);
                int r = bh_store_workspace_get(daemon->store, tenant, name, &row, error);
                if (r < 0)
                        return -1;
                if (r == 0 && unlinkat(dirfd(stream), entry->d_name, 0) < 0)
                        return bh_error_errno(error, errno, "remove %s", entry->d_name);
        }
        return 0;
}

int bh_workspaces_sweep(struct bh_daemon *daemon, struct bh_error *error)
{
        int fd = openat(daemon->workspaces_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        _cleanup_(close_stream) DIR *stream = fd < 0 ? NULL : fdopendir(fd);
        if (!stream) {
                int errnum = errno;
                bh_close(fd);
                return bh_error_errno(error, errnum, "list the workspaces");
        }
        for (struct dirent *entry = readdir(stream); entry; entry = readdir(stream))
                if (bh_name_valid(entry->d_name) && sweep_tenant(daemon, entry->d_name, error) < 0)
                        return bh_error_prefix(error, "workspaces");
        return 0;
}
