/* bulkheadd: the broker. Isolates itself in stages, each of which says what it takes away and
 * what must still be there after it. */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/core_dumps.h"
#include "base/log.h"
#include "broker/daemon/daemon.h"

#define EXIT_USAGE    2

/* Descriptors: each execution under way holds a channel and, while it is asked about, two files. */
#define NOFILE_WANTED 65536
#define NOFILE_MAX    1048576

/* Before anything else is opened or read: what an earlier program left open goes (it would reach
 * shims, and through them workloads), and nothing made from here on is for others or ends up in a
 * core file. Still needed: standard error, all privileges. */
static int isolate_early(struct bh_error *error)
{
        int result = 0;
        if (close_range(3, ~0U, 0) < 0)
                return bh_error_errno(error, errno, "close inherited descriptors");
        umask(077);
        result = bh_core_dumps_forbid();
        if (result < 0)
                return bh_error_errno(error, -result, "forbid core dumps");
        if (prctl(PR_SET_DUMPABLE, 0) < 0)
                return bh_error_errno(error, errno, "forbid dumps");
        return 0;
}

/* As far as the hard limit lets: raising that one too may be denied even to root. */
static int raise_descriptors(struct bh_error *error)
{
        struct rlimit files;
        if (getrlimit(RLIMIT_NOFILE, &files) < 0)
                return bh_error_errno(error, errno, "read the limit of descriptors");
        struct rlimit wanted = {NOFILE_WANTED, NOFILE_WANTED};
        if (files.rlim_max < NOFILE_WANTED && setrlimit(RLIMIT_NOFILE, &wanted) == 0)
                return 0;
        files.rlim_cur = files.rlim_max < NOFILE_MAX ? files.rlim_max : NOFILE_MAX;
        if (setrlimit(RLIMIT_NOFILE, &files) < 0)
                return bh_error_errno(error, errno, "raise the limit of descriptors");
        return 0;
}

/* Before configuration is acted on: a mount tree of its own, in which drivers lay out root trees
 * that the host never sees; the host's later mounts still come in. Adopts what its children leave
 * behind. Still needed: root, the host's file systems, its network for the listeners. */
static int isolate_before_daemon(struct bh_error *error)
{
        if (geteuid() != 0)
                return bh_error_set(error, BH_ERROR_REFUSED, "bulkheadd has to be started by root");
        if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_SLAVE | MS_REC, NULL) < 0)
                return bh_error_errno(error, errno, "take a mount namespace");
        if (prctl(PR_SET_CHILD_SUBREAPER, 1) < 0)
                return bh_error_errno(error, errno, "become a subreaper");
        if (raise_descriptors(error) < 0)
                return -1;
        if (chdir("/") < 0)
                return bh_error_errno(error, errno, "leave the working directory");
        return 0;
}

static int complain(const struct bh_error *error, int status)
{
        fprintf(stderr, "bulkheadd: %s\n", error->message);
        return status;
}

static int run_take(struct bh_config *config, struct bh_policy *policy, int argc, char *argv[])
{
        struct bh_error error = {0};
        _cleanup_(bh_daemon_cleanup) struct bh_daemon *daemon = NULL;
        if (isolate_before_daemon(&error) < 0) {
                bh_config_free(config);
                bh_policy_free(policy);
                return complain(&error, EXIT_FAILURE);
        }
        if (bh_daemon_new_take(config, policy, &bh_seams_real, &daemon, &error) < 0)
                return complain(&error, EXIT_FAILURE);
        daemon->argc = argc;
        daemon->argv = argv;
        if (bh_daemon_run(daemon, &error) < 0)
                return complain(&error, EXIT_FAILURE);
        return EXIT_SUCCESS;
}

int main(int argc, char *argv[])
{
        struct bh_error error = {0};
        _cleanup_(bh_config_cleanup) struct bh_config *config = NULL;
        _cleanup_(bh_policy_cleanup) struct bh_policy *policy = NULL;
        enum bh_config_result result = BH_CONFIG_RUN;

        if (isolate_early(&error) < 0)
                return complain(&error, EXIT_FAILURE);
        bh_log_open("bulkheadd", BH_LOG_INFO, STDERR_FILENO);
        if (bh_config_read(argc, argv, &config, &result, &error) < 0)
                return complain(&error, EXIT_USAGE);
        if (result == BH_CONFIG_HELP) {
                fputs(bh_config_usage, stdout);
                return EXIT_SUCCESS;
        }
        if (result == BH_CONFIG_VERSION) {
                puts("bulkheadd " BULKHEAD_VERSION);
                return EXIT_SUCCESS;
        }
        if (bh_policy_load(config->policy, &policy, &error) < 0)
                return complain(&error, EXIT_USAGE);
        if (config->check) {
                printf("config %s and policy %s are good\n", config->file ? config->file : "(none)",
                       config->policy ? config->policy : "(compiled in)");
                return EXIT_SUCCESS;
        }
        return run_take(bh_steal_ptr(&config), bh_steal_ptr(&policy), argc, argv);
}
