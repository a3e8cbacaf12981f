/* bulkhead-init: the process that an OCI runtime starts in a container. Pid 1 there: makes the
 * workload's process, gives up its own privileges, reaps, and says how the workload ended. A
 * program that is pid 1 itself could not be killed by its own signals, nor leave orphans to
 * anyone. Built statically, into the drivers' library; order.h is its interface. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "drivers/container/init/guest.h"
#include "drivers/container/order.h"
#include "drivers/kernel/execute.h"
#include "drivers/kernel/privileges.h"
#include "drivers/kernel/report.h"
#include "drivers/kernel/root.h"

#define FIRST_ARGUMENT 3 /* of the workload's argv in ours */

static struct {
        struct bh_order head;
        struct sock_filter instructions[BPF_MAXINSNS];
} order;

struct session {
        bool guest;
        int channel;
        int fds[BH_ORDER_FDS_MAX];
        char **argv;
        const char *directory;
};

static int check(int result)
{
        return result < 0 ? -errno : result;
}

/* As bh_setup_expect in the subprocess driver. */
static void expect(const struct session *session, const char *control, const char *step, int result)
{
        if (strcmp(order.head.fault, control) == 0)
                result = -EPERM;
        if (result < 0)
                bh_report_failure(session->channel, control, step, result);
}

/* ---- the order ---- */

static void take_descriptors(struct session *session, struct msghdr *message)
{
        struct cmsghdr *header = CMSG_FIRSTHDR(message);
        size_t size = order.head.fd_count * sizeof(int);

        if (order.head.fd_count < BH_ORDER_STANDARD || order.head.fd_count > BH_ORDER_FDS_MAX ||
            !header || header->cmsg_type != SCM_RIGHTS || header->cmsg_len != CMSG_LEN(size))
                bh_report_failure(session->channel, "descriptors.closed", "take the descriptors",
                                  -EBADMSG);
        memcpy(session->fds, CMSG_DATA(header), size);
}

static void receive_order(struct session *session)
{
        union {
                struct cmsghdr header;
                char space[CMSG_SPACE(sizeof(int) * BH_ORDER_FDS_MAX)];
        } control = {.space = {0}};
        struct iovec data = {.iov_base = &order, .iov_len = sizeof(order)};
        struct msghdr message = {.msg_iov = &data,
                                 .msg_iovlen = 1,
                                 .msg_control = &control,
                                 .msg_controllen = sizeof(control)};
        ssize_t size;

        do {
                size = recvmsg(session->channel, &message, MSG_CMSG_CLOEXEC);
        } while (size < 0 && errno == EINTR);
        if (size <= 0) /* the shim is gone */
                _exit(EXIT_FAILURE);
        if ((size_t)size !=
            sizeof(order.head) + order.head.instruction_count * sizeof(struct sock_filter))
                bh_report_failure(session->channel, "seccomp", "take the order", -EBADMSG);
        take_descriptors(session, &message);
}

/* ---- the workload's process ---- */

/* The files were opened by the host's root, so that joining needs no right of our own. */
static void join_cgroups(const struct session *session)
{
        int result = 0;

        for (unsigned i = BH_ORDER_STANDARD; i < order.head.fd_count && result == 0; i++)
                result = write(session->fds[i], "0", 1) == 1 ? 0 : -errno;
        expect(session, "cgroup.memory", "join the cgroups", result);
        expect(session, "cgroup.pids", "join the cgroups", 0);
        expect(session, "cgroup.cpu", "join the cgroups", 0);
        expect(session, "cgroup.kill", "join the cgroups", 0);
}

static int drop(uid_t uid)
{
        int result = bh_privileges_bound();

        return result < 0 ? result : bh_privileges_drop(uid, uid);
}

static int load_filter(void)
{
        struct sock_fprog filter = {.len = (unsigned short)order.head.instruction_count,
                                    .filter = order.instructions};

        return check((int)prctl(PR_SET_SECCOMP, 2 /* SECCOMP_MODE_FILTER */, &filter, 0, 0));
}

static void become_workload(struct session *session)
{
        struct bh_report report = {.kind = BH_REPORT_WORKLOAD_READY};
        char *room = malloc(bh_execute_room(session->argv, environ));
        int placed, entered;

        if (!room || setsid() < 0)
                bh_report_failure(session->channel, "namespace.pid", "start a session", -errno);
        join_cgroups(session);
        placed = bh_execute_place(session->fds, session->channel);
        if (placed == 0)
                session->channel = BH_EXECUTE_CHANNEL_FD;
        expect(session, "descriptors.closed", "place descriptors", placed);
        expect(session, "uid.distinct", "leave every group",
               check((int)syscall(SYS_setgroups, 0, NULL)));
        expect(session, "capabilities.empty", "drop privileges",
               session->guest ? bh_guest_drop(BH_ROOT_INSIDE_UID) : drop(BH_ROOT_INSIDE_UID));
        expect(session, "no_new_privs", "set no_new_privs", bh_privileges_no_new());
        entered = bh_execute_enter(session->directory);
        expect(session, "seccomp", "load the seccomp filter", load_filter());
        if (session->guest)
                bh_guest_tell(session->channel);
        bh_report_send(session->channel, &report);
        bh_execute_await_leave(session->channel);
        bh_execute(session->argv, environ, room, entered < 0 ? session->directory : NULL);
}

/* ---- init ---- */

/* Default dispositions and an empty mask, whatever the runtime left. */
static void reset_signals(void)
{
        sigset_t none;

        for (int number = 1; number < NSIG; number++)
                signal(number, SIG_DFL); /* refuses SIGKILL and SIGSTOP */
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL);
}

/* From here on init has no right that its uid does not have, and holds nothing but the channel. */
static void give_up(struct session *session)
{
        struct bh_report report = {.kind = BH_REPORT_INIT_READY};

        expect(session, "capabilities.empty", "drop init's privileges",
               session->guest ? bh_guest_drop(0) : drop(0));
        expect(session, "no_new_privs", "set no_new_privs on init", bh_privileges_no_new());
        expect(session, "proc.private", "make init undumpable",
               check(prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)));
        if (session->channel != BH_EXECUTE_CHANNEL_FD) {
                expect(session, "descriptors.closed", "keep init's channel",
                       check(dup3(session->channel, BH_EXECUTE_CHANNEL_FD, O_CLOEXEC)));
                session->channel = BH_EXECUTE_CHANNEL_FD;
        }
        if (close_range(0, BH_EXECUTE_CHANNEL_FD - 1, 0) < 0 ||
            close_range(BH_EXECUTE_CHANNEL_FD + 1, INT_MAX, 0) < 0)
                bh_report_failure(session->channel, "descriptors.closed",
                                  "close init's descriptors", -errno);
        bh_report_send(session->channel, &report);
}

/* Waits for everybody, since orphans come to pid 1, until the workload's process ends. */
static void reap(const struct session *session, pid_t workload)
{
        struct bh_report report = {.kind = BH_REPORT_ENDED};
        siginfo_t info;

        do {
                info.si_pid = 0;
                if (waitid(P_ALL, 0, &info, WEXITED) < 0 && errno != EINTR)
                        _exit(EXIT_FAILURE);
        } while (info.si_pid != workload);
        report.code = info.si_code;
        report.status = info.si_status;
        bh_report_send(session->channel, &report);
}

int main(int argc, char **argv)
{
        struct session session = {.channel = BH_INIT_HOST_CHANNEL};
        pid_t workload;

        if (argc <= FIRST_ARGUMENT)
                return EXIT_FAILURE;
        session.guest = strcmp(argv[1], BH_INIT_GUEST) == 0;
        if (session.guest)
                session.channel = BH_INIT_GUEST_CHANNEL;
        session.directory = argv[2];
        session.argv = argv + FIRST_ARGUMENT;
        reset_signals();
        receive_order(&session);
        workload = fork();
        if (workload == 0)
                become_workload(&session);
        expect(&session, "namespace.pid", "make the workload's process", check(workload));
        give_up(&session);
        reap(&session, workload);
        return EXIT_SUCCESS;
}
