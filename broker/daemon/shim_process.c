/* Starting helper programs, and what a shim leaves on disk when no broker is there. */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/spawn.h"
#include "broker/daemon/daemon.h"
#include "broker/shim_protocol.h"

int bh_helper_path(const char *name, char **ret, struct bh_error *error)
{
        char own[PATH_MAX];
        ssize_t length = readlink("/proc/self/exe", own, sizeof(own) - 1);
        if (length < 0)
                return bh_error_errno(error, errno, "find this program");
        own[length] = 0;
        const char *directory = dirname(own);
        const char *const places[] = {"", "/../lib/bulkhead"};
        for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
                _cleanup_free_ char *path = bh_format("%s%s/%s", directory, places[i], name);
                if (access(path, X_OK) == 0) {
                        *ret = bh_steal_ptr(&path);
                        return 0;
                }
        }
        return bh_error_set(error, BH_ERROR_NOT_FOUND,
                            "%s is neither in %s nor in %s/../lib/bulkhead", name, directory,
                            directory);
}

/* The one variable that test builds of the shim look at. */
static char **shim_environment(void)
{
        char **environment = bh_alloc_array(2, sizeof(*environment));
#ifdef BULKHEAD_FAULTS
        const char *fault = getenv("BULKHEAD_FAULT");
        if (fault)
                environment[0] = bh_format("BULKHEAD_FAULT=%s", fault);
#endif
        return environment;
}

int bh_shim_spawn(struct bh_daemon *daemon, int *ret_channel, struct bh_pidref *ret,
                  struct bh_error *error)
{
        (void)daemon;
        int pair[2];
        _cleanup_free_ char *path = NULL;
        if (bh_helper_path("bulkhead-shim", &path, error) < 0)
                return -1;
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
                return bh_error_errno(error, errno, "make a channel");
        _cleanup_close_ int ours = pair[0];
        _cleanup_close_ int theirs = pair[1];
        char *argv[] = {(char[]){"bulkhead-shim"}, NULL};
        struct bh_spawn_fd fds[] = {{theirs, BH_SHIM_CHANNEL_FD}};
        char **environment = shim_environment();
        struct bh_spawn spawn = {.path = path,
                                 .argv = argv,
                                 .envp = environment,
                                 .fds = fds,
                                 .fd_count = 1,
                                 .new_session = 1};
        int r = bh_spawn(&spawn, ret, error);
        free(environment[0]);
        free(environment);
        if (r < 0)
                return -1;
        *ret_channel = bh_steal_fd(&ours);
        return 0;
}

static void remove_result(void *data, bool committed)
{
        char *path = data;
        if (committed)
                unlink(path);
        free(path);
}

int bh_shim_result_from_disk(struct bh_live *live, struct bh_error *error)
{
        struct bh_daemon *daemon = live->daemon;
        _cleanup_free_ char *path = bh_format("%s/" BH_SHIM_RESULT_FILE, live->record->id);
        _cleanup_close_ int fd = bh_open_beneath(daemon->executions_fd, path, O_RDONLY, 0, NULL);
        if (fd < 0)
                return 0;
        _cleanup_free_ char *text = bh_alloc(BH_SHIM_RESULT_MAX + 1);
        _cleanup_json_ json_t *json = NULL;
        ssize_t size = bh_read_full(fd, text, BH_SHIM_RESULT_MAX + 1);
        if (size < 0 || (size_t)size > BH_SHIM_RESULT_MAX ||
            bh_json_parse(text, (size_t)size, &json, error) < 0 ||
            bh_execution_apply_result(live->record, json, error) < 0) {
                bh_log_error("execution.wrong_result", live->record->id, error);
                return 0;
        }
        daemon->executions.active--;
        bh_live_ended(live);
        bh_turn_after(&daemon->turn, BH_TURN_REPLY, remove_result,
                      bh_format("%s/executions/%s/" BH_SHIM_RESULT_FILE, daemon->paths.state_dir,
                                live->record->id));
        return 1;
}
