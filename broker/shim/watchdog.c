/* Killing the children of a slot that hangs; see watchdog.h. */
#include "broker/shim/watchdog.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/pidfd.h>
#include <sys/time.h>
#include <unistd.h>

#define REPEAT_US 200000 /* children that the slot starts meanwhile go too */

/* Shared with the signal handler, which can be handed nothing else. */
static volatile sig_atomic_t acted;

/* A child that was not reaped keeps its pid, so this cannot meet another process. Whoever reaps
 * here is the slot that was interrupted. */
static void kill_child(pid_t pid)
{
        int pidfd = pidfd_open(pid, 0);

        if (pidfd < 0)
                return;
        (void)pidfd_send_signal(pidfd, SIGKILL, NULL, 0);
        (void)close(pidfd);
}

/* Async-signal-safe. /proc/thread-self/children is decimal pids, each with a space behind
 * (proc(5)). */
static void on_alarm(int signal)
{
        int saved = errno;
        int fd = open("/proc/thread-self/children", O_RDONLY | O_CLOEXEC);
        char text[4096];
        ssize_t size = fd >= 0 ? read(fd, text, sizeof(text)) : -1;
        pid_t pid = 0;

        (void)signal;
        acted = 1;
        for (ssize_t i = 0; i < size; i++) {
                if (text[i] >= '0' && text[i] <= '9') {
                        pid = pid * 10 + (text[i] - '0');
                } else if (pid > 0) {
                        kill_child(pid);
                        pid = 0;
                }
        }
        if (fd >= 0)
                (void)close(fd);
        errno = saved;
}

int bh_watchdog_arm(int64_t after_us, struct bh_error *error)
{
        struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
        struct itimerval timer = {
                .it_value = {.tv_sec = after_us / 1000000, .tv_usec = after_us % 1000000},
                .it_interval = {.tv_usec = REPEAT_US},
        };

        acted = 0;
        if (sigaction(SIGALRM, &action, NULL) < 0 || setitimer(ITIMER_REAL, &timer, NULL) < 0)
                return bh_error_errno(error, errno, "arm the watchdog");
        return 0;
}

bool bh_watchdog_disarm(void)
{
        struct itimerval none = {.it_value = {.tv_sec = 0}};

        (void)setitimer(ITIMER_REAL, &none, NULL);
        return acted;
}
