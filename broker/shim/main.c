/* bulkhead-shim: carries one execution from its plan to its end, then exits. Started by bulkheadd
 * in advance, in a session of its own, with the channel on descriptor 3 and its log on 2. */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/core_dumps.h"
#include "base/log.h"
#include "broker/shim/run.h"
#include "broker/shim_protocol.h"
#include "drivers/kernel/gateway.h"

/* For the signal handler, which can be handed nothing. */
static int stop_event = -1;

/* Touched page by page as output comes: an idle shim pays nothing for it. */
static char buffer[64 << 10];

static void on_stop(int signal)
{
        int saved = errno;

        (void)signal;
        (void)eventfd_write(stop_event, 1);
        errno = saved;
}

/* A handler, not SIG_IGN: ignoring would be inherited by the workload through execve(2). */
static void on_nothing(int signal)
{
        (void)signal;
}

static int handle_signals(struct bh_error *error)
{
        static const int harmless[] = {SIGHUP, SIGINT, SIGQUIT, SIGPIPE, SIGUSR1, SIGUSR2};
        struct sigaction stop = {.sa_handler = on_stop, .sa_flags = SA_RESTART};
        struct sigaction nothing = {.sa_handler = on_nothing, .sa_flags = SA_RESTART};
        sigset_t none;

        stop_event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        if (stop_event < 0)
                return bh_error_errno(error, errno, "make an event descriptor");
        sigemptyset(&none);
        if (sigprocmask(SIG_SETMASK, &none, NULL) < 0 || sigaction(SIGTERM, &stop, NULL) < 0)
                return bh_error_errno(error, errno, "handle signals");
        for (size_t i = 0; i < sizeof(harmless) / sizeof(harmless[0]); i++) {
                if (sigaction(harmless[i], &nothing, NULL) < 0)
                        return bh_error_errno(error, errno, "handle signals");
        }
        return 0;
}

/* What nothing later needs: other descriptors, core dumps (memory holds a workload's environment
 * and payload), being looked into, a working directory that pins a file system. The driver's
 * processes whose parent dies come to us. */
static int isolate_early(struct bh_error *error)
{
        int result = bh_core_dumps_forbid();

        if (result < 0)
                return bh_error_errno(error, -result, "forbid core dumps");
        umask(077);
        if (close_range(BH_SHIM_CHANNEL_FD + 1, ~0U, 0) < 0 || chdir("/") < 0 ||
            prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 || prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0)
                return bh_error_errno(error, errno, "isolate the shim");
        return 0;
}

static bool has_channel(void)
{
        int type;
        socklen_t size = sizeof(type);

        return getsockopt(BH_SHIM_CHANNEL_FD, SOL_SOCKET, SO_TYPE, &type, &size) == 0;
}

int main(void)
{
        struct bh_shim_settings settings = {
                .driver_by_name = bh_driver_by_name,
                .gateway_make = bh_gateway_make,
                .buffer = buffer,
                .buffer_size = sizeof(buffer),
                .provision_us = BH_SHIM_PROVISION_US,
                .kill_us = BH_SHIM_KILL_US,
                .drain_us = BH_SHIM_DRAIN_US,
                .taken_us = BH_SHIM_TAKEN_US,
                .retry_us = BH_SHIM_RETRY_US,
        };
        struct bh_error error = {.code = BH_ERROR_NONE};
        long cpus;

        if (!has_channel()) {
                (void)fprintf(stderr, "bulkhead-shim is started by bulkheadd\n");
                return 2;
        }
        bh_log_open("bulkhead-shim", BH_LOG_INFO, STDERR_FILENO);
        if (isolate_early(&error) < 0 || handle_signals(&error) < 0) {
                bh_log_error("isolate", NULL, &error);
                return EXIT_FAILURE;
        }
        cpus = sysconf(_SC_NPROCESSORS_ONLN);
        settings.online_cpus = cpus > 0 ? (unsigned)cpus : 1;
        settings.stop_fd = stop_event;
#ifdef BULKHEAD_FAULTS
        settings.fault = getenv("BULKHEAD_FAULT");
#endif
        return bh_shim_run(&settings, BH_SHIM_CHANNEL_FD);
}
