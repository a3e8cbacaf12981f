/* What is kept for how long: ended executions by age and number, idempotency keys by their
 * expiry. Whatever ended in the last 24 h stays, because a key may still name it. At a start,
 * also removes what a crash left of executions that never were. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "broker/daemon/daemon.h"
#include "broker/daemon/idempotency.h"
#include "broker/shim_protocol.h"

#define DAY_MS    ((int64_t)24 * 60 * 60 * 1000)
#define AT_A_TIME 500 /* a minute: so that no turn takes long */

struct doomed {
        struct bh_daemon *daemon;
        char (*ids)[BH_ID_SIZE];
        size_t count;
};

static int collect(struct bh_execution *execution, void *data, struct bh_error *error)
{
        struct doomed *doomed = data;
        (void)error;
        memcpy(doomed->ids[doomed->count++], execution->id, BH_ID_SIZE);
        return 0;
}

/* The shim makes no other names in there. */
void bh_execution_remove_directory(struct bh_daemon *daemon, const char *id)
{
        int executions_fd = daemon->executions_fd;
        static const char *const names[] = {"stdout", "stderr", BH_SHIM_RESULT_FILE,
                                            BH_SHIM_CONTROL_SOCKET};
        _cleanup_close_ int directory =
                bh_open_beneath(executions_fd, id, O_RDONLY | O_DIRECTORY, 0, NULL);
        if (directory < 0)
                return;
        for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
                unlinkat(directory, names[i], 0);
        unlinkat(executions_fd, id, AT_REMOVEDIR);
}

/* A directory is made before its execution is stored, and removed after it is deleted: a crash
 * in between leaves one that no row knows. */
static int sweep_one(struct bh_daemon *daemon, const char *id, struct bh_error *error)
{
        _cleanup_(bh_execution_cleanup) struct bh_execution *row = NULL;
        int known = bh_store_execution_get(daemon->store, id, &row, error);
        if (known == 0)
                bh_execution_remove_directory(daemon, id);
        return known < 0 ? -1 : 0;
}

int bh_daemon_sweep(struct bh_daemon *daemon, struct bh_error *error)
{
        int fd = openat(daemon->executions_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        DIR *stream = fd < 0 ? NULL : fdopendir(fd);
        int r = 0;
        if (!stream) {
                int errnum = errno;
                bh_close(fd);
                return bh_error_errno(error, errnum, "list the executions");
        }
        for (struct dirent *entry = readdir(stream); entry && r == 0; entry = readdir(stream))
                if (bh_id_valid("ex_", entry->d_name))
                        r = sweep_one(daemon, entry->d_name, error);
        closedir(stream);
        return r;
}

static void remove_directories(void *data, bool committed)
{
        struct doomed *doomed = data;
        for (size_t i = 0; committed && i < doomed->count; i++)
                bh_execution_remove_directory(doomed->daemon, doomed->ids[i]);
        free(doomed->ids);
        free(doomed);
}

static int prune(struct bh_daemon *daemon, struct bh_error *error)
{
        int64_t now_ms = bh_realtime_ms();
        struct doomed *doomed = bh_alloc(sizeof(*doomed));
        doomed->daemon = daemon;
        doomed->ids = bh_alloc_array(AT_A_TIME, BH_ID_SIZE);
        int r = bh_store_execution_prunable(
                daemon->store, now_ms - daemon->config->retain_days * DAY_MS,
                daemon->config->retain_count, now_ms - BH_IDEMPOTENCY_MS, AT_A_TIME, collect,
                doomed, error);
        for (size_t i = 0; r == 0 && i < doomed->count; i++)
                r = bh_store_execution_delete(daemon->store, doomed->ids[i], error);
        if (doomed->count == 0 || r < 0)
                doomed->count = 0;
        bh_turn_after(&daemon->turn, BH_TURN_REPLY, remove_directories, doomed);
        return r;
}

void bh_daemon_retain(struct bh_daemon *daemon)
{
        struct bh_error error = {0};
        if (bh_store_key_expire(daemon->store, bh_realtime_ms(), &error) < 0 ||
            prune(daemon, &error) < 0)
                bh_log_error("retention.failed", NULL, &error);
}
