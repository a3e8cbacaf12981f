/* See build.h. */
#include "drivers/container/build.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "drivers/container/holder.h"
#include "drivers/container/launch.h"
#include "drivers/container/order.h"
#include "drivers/container/places.h"
#include "drivers/container/spec.h"
#include "drivers/kernel/controls.h"
#include "drivers/kernel/files.h"
#include "drivers/kernel/mounts.h"
#include "drivers/kernel/report.h"
#include "drivers/kernel/scratch.h"
#include "drivers/kernel/seccomp.h"

#define LOG_MAX              512 /* of what a runtime said, in an error */

/* What gVisor itself needs beside what the workload may: its Go programs' memory, and for each
 * task of the guest a thread of the sentry and, on the ptrace platform, one stub for every thread
 * that ever ran it. A sentry that is refused a thread dies, so this fence stands well outside of
 * the guest's own count (RLIMIT_NPROC): 128 guests that fork need more than 3 each, less than 16.
 */
#define SENTRY_MEMORY        ((int64_t)64 << 20)
#define SENTRY_TASKS         256
#define SENTRY_TASKS_A_GUEST 16

/* Everything that is made before the runtime starts and is not needed after it has. */
struct parts {
        const struct bh_plan *plan;
        const struct bh_instance *instance;
        char *root, *path;
        int bundle, scratch, shm, workspace;
        int user_namespace, cgroup_namespace;
        int channel, null, log;
        struct bh_seccomp_program seccomp;
};

static const struct parts parts_none = {
        .bundle = -1,
        .scratch = -1,
        .shm = -1,
        .workspace = -1,
        .user_namespace = -1,
        .cgroup_namespace = -1,
        .channel = -1,
        .null = -1,
        .log = -1,
};

static void clear_parts(struct parts *parts)
{
        free(parts->root);
        free(parts->path);
        bh_close(parts->bundle);
        bh_close(parts->scratch);
        bh_close(parts->shm);
        bh_close(parts->workspace);
        bh_close(parts->user_namespace);
        bh_close(parts->cgroup_namespace);
        bh_close(parts->channel);
        bh_close(parts->null);
        bh_close(parts->log);
        bh_seccomp_clear(&parts->seccomp);
}

static bool is_userkernel(const struct bh_container *boundary)
{
        return boundary->runtime->tier == BH_TIER_USERKERNEL;
}

/* Raises the faults of the steps that the shim or the runtime does. */
static int fault(const struct parts *parts, const char *control, struct bh_error *error)
{
        if (!parts->instance->fault || strcmp(parts->instance->fault, control) != 0)
                return 0;
        bh_error_errno(error, EPERM, "fault injection");
        return bh_error_control(error, control);
}

/* ---- pieces ---- */

static int make_cgroup(struct bh_container *boundary, const struct bh_driver_host *host,
                       const struct parts *parts, struct bh_error *error)
{
        struct bh_limits limits = parts->plan->limits;

        if (is_userkernel(boundary)) {
                limits.value[BH_LIMIT_MEMORY_BYTES] += SENTRY_MEMORY;
                limits.value[BH_LIMIT_PIDS] =
                        limits.value[BH_LIMIT_PIDS] * SENTRY_TASKS_A_GUEST + SENTRY_TASKS;
        }
        if (bh_cgroup_create(host, parts->instance->id, &limits, &boundary->cgroup, error) < 0)
                return error && error->code == BH_ERROR_CONTROL
                               ? -1
                               : bh_error_control(error, "cgroup.memory");
        return 0;
}

static int make_shm(struct parts *parts, struct bh_error *error)
{
        const struct bh_plan *plan = parts->plan;
        _cleanup_free_ char *size = bh_format("size=%lld", (long long)plan->shm_bytes);
        _cleanup_free_ char *inodes = bh_format("nr_inodes=%lld", (long long)plan->scratch_inodes);
        const char *options[] = {"mode=1777", size, inodes, NULL};

        parts->shm = bh_mount_new("tmpfs", options,
                                  MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC);
        if (parts->shm < 0) {
                bh_error_errno(error, -parts->shm, "mount /dev/shm");
                return bh_error_control(error, "shm.size");
        }
        return 0;
}

/* On disk a workspace belongs to uid 1000 for ever; the mount shows it as the host uid that this
 * execution happens to have. gVisor's gofer makes files as root and then gives them away. */
static int map_workspace(const struct parts *parts, struct bh_error *error)
{
        uint64_t attributes = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
        int result;

        if (parts->workspace < 0)
                return 0;
        if (!parts->plan->workspace_writable)
                attributes |= MOUNT_ATTR_RDONLY;
        result = bh_mount_idmap(parts->workspace, parts->user_namespace, attributes, false);
        return result < 0 ? bh_error_errno(error, -result, "map the workspace's owner") : 0;
}

/* The files go in before anything of the workload exists; see files.h for what may lie there. */
static int make_mounts(struct parts *parts, const struct bh_driver_host *host,
                       struct bh_error *error)
{
        if (fault(parts, "scratch.size", error) < 0)
                return -1;
        parts->scratch = bh_scratch_make(parts->plan, parts->instance, host, error);
        if (parts->scratch < 0)
                return bh_error_control(error, "scratch.size");
        if (fault(parts, "workspace", error) < 0)
                return -1;
        if (bh_workspace_make(parts->plan, parts->instance, parts->scratch, &parts->workspace,
                              error) < 0 ||
            map_workspace(parts, error) < 0)
                return bh_error_control(error, "workspace");
        return make_shm(parts, error);
}

/* ---- the bundle ---- */

static int write_config(int directory, const struct parts *parts, struct bh_error *error)
{
        _cleanup_json_ json_t *spec = bh_spec_make(parts->plan);
        _cleanup_free_ char *text = bh_json_text(spec);
        _cleanup_close_ int fd = openat(directory, "bundle/config.json",
                                        O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);

        if (fd < 0 || bh_write_full(fd, text, strlen(text)) < 0 || fchmod(fd, 0644) < 0)
                return bh_error_errno(error, errno, "write config.json");
        return 0;
}

/* places.h, below BH_PLACE. */
static int make_places(int directory, uid_t owner, struct bh_error *error)
{
        static const char *const directories[] = {"bundle", "state", "root",     "scratch",
                                                  "tmp",    "shm",   "workspace"};

        for (size_t i = 0; i < sizeof(directories) / sizeof(directories[0]); i++) {
                if (mkdirat(directory, directories[i], 0755) < 0 ||
                    fchmodat(directory, directories[i], 0755, 0) < 0)
                        return bh_error_errno(error, errno, "make %s", directories[i]);
        }
        if (fchownat(directory, "state", owner, owner, 0) < 0)
                return bh_error_errno(error, errno, "give the runtime its state directory");
        return 0;
}

static int make_bundle(struct parts *parts, struct bh_error *error)
{
        static const char *const options[] = {"mode=0755", "size=16m", "nr_inodes=256", NULL};

        parts->bundle = bh_mount_new("tmpfs", options, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
        if (parts->bundle < 0)
                return bh_error_errno(error, -parts->bundle, "mount the bundle");
        if (make_places(parts->bundle, parts->instance->init_uid, error) < 0)
                return -1;
        return write_config(parts->bundle, parts, error);
}

/* For a guest's kernel their owner is not the workload, so that a reopened /dev/stdout needs the
 * mode's leave. Nobody else can get at them. */
static int open_pipes(const struct bh_instance *instance, struct bh_error *error)
{
        const int fds[] = {instance->stdin_fd, instance->stdout_fd, instance->stderr_fd};

        for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++) {
                struct stat status;

                if (fstat(fds[i], &status) < 0 ||
                    (S_ISFIFO(status.st_mode) && fchmod(fds[i], 0666) < 0))
                        return bh_error_errno(error, errno, "open standard descriptor %zu", i);
        }
        return 0;
}

static int open_streams(struct bh_container *boundary, struct parts *parts, struct bh_error *error)
{
        int pair[2], log[2];

        if (bh_report_channel(pair, boundary->runtime->patience_s, error) < 0)
                return -1;
        boundary->channel = pair[0];
        parts->channel = pair[1];
        if (pipe2(log, O_CLOEXEC | O_NONBLOCK) < 0)
                return bh_error_errno(error, errno, "make the runtime's log");
        boundary->log = log[0];
        parts->log = log[1];
        parts->null = open("/dev/null", O_RDONLY | O_CLOEXEC);
        if (parts->null < 0)
                return bh_error_errno(error, errno, "open /dev/null");
        if (is_userkernel(boundary) && open_pipes(parts->instance, error) < 0)
                return -1;
        return bh_files_give_pipes(parts->instance, error);
}

/* The controls whose set-up is the runtime's alone. */
static int runtime_faults(const struct parts *parts, struct bh_error *error)
{
        static const char *const controls[] = {"namespace.ipc", "namespace.uts"};

        for (size_t i = 0; i < sizeof(controls) / sizeof(controls[0]); i++) {
                if (fault(parts, controls[i], error) < 0)
                        return -1;
        }
        return 0;
}

/* Maps of the workspace's owners, and a cgroup namespace. */
static int make_namespaces(const struct bh_container *boundary, struct parts *parts,
                           struct bh_error *error)
{
        const struct bh_instance *instance = parts->instance;
        _cleanup_free_ char *map =
                is_userkernel(boundary)
                        ? bh_format("0 %u 1\n%u %u 1\n", instance->init_uid,
                                    parts->plan->inside_uid, instance->workload_uid)
                        : bh_format("%u %u 1", parts->plan->inside_uid, instance->workload_uid);

        return bh_holder_make(boundary->cgroup, map, &parts->user_namespace,
                              &parts->cgroup_namespace, error);
}

static int make_parts(struct bh_container *boundary, const struct bh_driver_host *host,
                      struct parts *parts, struct bh_error *error)
{
        _cleanup_free_ char *filter = bh_container_seccomp_path(host);
        const char *program = boundary->runtime->program;

        parts->root = bh_container_root_path(host);
        parts->path = bh_runtime_find(program, NULL);
        if (!parts->path)
                return bh_error_set(error, BH_ERROR_UNAVAILABLE, "%s is not installed", program);
        if (runtime_faults(parts, error) < 0 || make_cgroup(boundary, host, parts, error) < 0 ||
            make_namespaces(boundary, parts, error) < 0 || make_mounts(parts, host, error) < 0)
                return -1;
        if (make_bundle(parts, error) < 0)
                return bh_error_control(error, "namespace.mount");
        if (bh_seccomp_read(filter, &parts->seccomp, error) < 0)
                return bh_error_control(error, "seccomp");
        if (open_streams(boundary, parts, error) < 0)
                return bh_error_control(error, "descriptors.closed");
        return 0;
}

/* ---- running it ---- */

/* Appends what the runtime said, made one line. */
static int add_log(const struct bh_container *boundary, struct bh_error *error)
{
        char text[LOG_MAX + 1];
        ssize_t size = read(boundary->log, text, LOG_MAX);

        while (size > 0 && (text[size - 1] == '\n' || text[size - 1] == ' '))
                size--;
        if (size <= 0)
                return -1;
        text[size] = '\0';
        for (char *c = text; *c; c++) {
                if ((unsigned char)*c < ' ' || (unsigned char)*c > '~')
                        *c = ' ';
        }
        return bh_error_prefix(error, "%s", text);
}

/* One report that is no failure. */
static int expect_report(struct bh_container *boundary, struct bh_report *ret, pid_t *ret_pid,
                         struct bh_error *error)
{
        const char *program = boundary->runtime->program;
        int got = bh_report_receive(boundary->channel, ret, ret_pid, error);

        if (got > 0 && ret->kind == BH_REPORT_FAILED)
                return bh_report_error(ret, error);
        if (got > 0 && ret->kind != BH_REPORT_ENDED)
                return 0;
        if (got < 0 && error && error->errnum == EAGAIN)
                bh_error_set(error, BH_ERROR_UNAVAILABLE, "nothing within %d s",
                             boundary->runtime->patience_s);
        else if (got >= 0)
                bh_error_set(error, BH_ERROR_UNAVAILABLE, "it ended while it built the container");
        add_log(boundary, error);
        return bh_error_prefix(error, "%s run", program);
}

/* Gives the runtime's user namespace the boundary's two host uids, and no other: its root is
 * init's. In a container the workload is uid 1000 of the same namespace; gVisor gives its sentry
 * uid 65534 always. */
static int map_manager(struct bh_container *boundary, const struct parts *parts,
                       struct bh_error *error)
{
        _cleanup_free_ char *map =
                bh_format("%d %u 1\n%u %u 1\n", BH_SPEC_OUTER_ROOT, parts->instance->init_uid,
                          is_userkernel(boundary) ? BH_SPEC_OUTER_NOBODY : parts->plan->inside_uid,
                          parts->instance->workload_uid);
        struct bh_report report;

        if (expect_report(boundary, &report, NULL, error) < 0)
                return -1;
        if (report.kind != BH_REPORT_UNMAPPED)
                return bh_error_set(error, BH_ERROR_PROTOCOL, "report %u out of turn", report.kind);
        if (bh_holder_map(boundary->manager.pid, map, false, error) < 0)
                return bh_error_control(error, "uid.distinct");
        if (send(boundary->channel, "", 1, MSG_NOSIGNAL) != 1)
                return bh_error_errno(error, errno, "let the runtime go on");
        return 0;
}

/* A userkernel's sentry joined with everything else of runsc. */
static int fill_descriptors(const struct bh_container *boundary, const struct parts *parts,
                            int fds[BH_ORDER_FDS_MAX], struct bh_error *error)
{
        const struct bh_instance *instance = parts->instance;
        int joins;

        _Static_assert(BH_CGROUP_JOINS_MAX <= BH_ORDER_FDS_MAX - BH_ORDER_STANDARD, "room");
        fds[0] = instance->stdin_fd;
        fds[1] = instance->stdout_fd;
        fds[2] = instance->stderr_fd;
        if (is_userkernel(boundary))
                return BH_ORDER_STANDARD;
        joins = bh_cgroup_open_joins(boundary->cgroup, fds + BH_ORDER_STANDARD, error);
        return joins < 0 ? bh_error_control(error, "cgroup.memory") : BH_ORDER_STANDARD + joins;
}

static int send_order(struct bh_container *boundary, const struct parts *parts,
                      struct bh_error *error)
{
        union {
                struct cmsghdr header;
                char space[CMSG_SPACE(sizeof(int) * BH_ORDER_FDS_MAX)];
        } control = {.space = {0}};
        int fds[BH_ORDER_FDS_MAX], count = fill_descriptors(boundary, parts, fds, error);
        struct bh_order order = {.instruction_count = parts->seccomp.count};
        struct iovec data[] = {{.iov_base = &order, .iov_len = sizeof(order)},
                               {.iov_base = parts->seccomp.instructions,
                                .iov_len = parts->seccomp.count * sizeof(struct sock_filter)}};
        struct msghdr message = {.msg_iov = data, .msg_iovlen = 2, .msg_control = &control};
        ssize_t sent;

        if (count < 0)
                return -1;
        order.fd_count = (uint32_t)count;
        if (parts->instance->fault)
                snprintf(order.fault, sizeof(order.fault), "%s", parts->instance->fault);
        message.msg_controllen = CMSG_SPACE(sizeof(int) * (size_t)count);
        control.header.cmsg_level = SOL_SOCKET;
        control.header.cmsg_type = SCM_RIGHTS;
        control.header.cmsg_len = CMSG_LEN(sizeof(int) * (size_t)count);
        memcpy(CMSG_DATA(&control.header), fds, sizeof(int) * (size_t)count);
        sent = sendmsg(boundary->channel, &message, MSG_NOSIGNAL);
        for (int i = BH_ORDER_STANDARD; i < count; i++)
                bh_close(fds[i]);
        if (sent < 0) {
                struct bh_report report;

                /* Whoever went away has said why, or the runtime has. */
                if (expect_report(boundary, &report, NULL, error) == 0)
                        bh_error_set(error, BH_ERROR_CLOSED, "init went away");
                return -1;
        }
        return 0;
}

static int await_ready(struct bh_container *boundary, struct bh_error *error)
{
        bool init = false, workload = false;

        while (!init || !workload) {
                struct bh_pidref *process = NULL;
                struct bh_report report;
                pid_t pid;

                if (expect_report(boundary, &report, &pid, error) < 0)
                        return -1;
                if (report.kind == BH_REPORT_TOLD)
                        json_object_set_new(boundary->guest, report.control,
                                            json_string(report.step));
                if (report.kind == BH_REPORT_INIT_READY) {
                        init = true;
                        process = &boundary->init;
                }
                if (report.kind == BH_REPORT_WORKLOAD_READY) {
                        workload = true;
                        process = &boundary->workload;
                }
                if (process && process->pidfd < 0 && bh_pidref_open(pid, process, error) < 0)
                        return bh_error_control(error, "namespace.pid");
        }
        return 0;
}

static int watch(struct bh_container *boundary, struct bh_error *error)
{
        struct epoll_event event = {.events = EPOLLIN};

        boundary->base.event_fd = epoll_create1(EPOLL_CLOEXEC);
        if (boundary->base.event_fd < 0 ||
            epoll_ctl(boundary->base.event_fd, EPOLL_CTL_ADD, boundary->channel, &event) < 0 ||
            epoll_ctl(boundary->base.event_fd, EPOLL_CTL_ADD, boundary->manager.pidfd, &event) < 0)
                return bh_error_errno(error, errno, "watch the boundary");
        return 0;
}

static int launch(struct bh_container *boundary, struct parts *parts, struct bh_error *error)
{
        const char *words[BH_RUNTIME_WORDS_MAX];
        const struct bh_launch launch = {
                .runtime = boundary->runtime,
                .instance = parts->instance,
                .cgroup = boundary->cgroup,
                .root = parts->root,
                .path = parts->path,
                .words = (char *const *)(void *)words,
                .bundle = parts->bundle,
                .scratch = parts->scratch,
                .shm = parts->shm,
                .workspace = parts->workspace,
                .workspace_writable = parts->plan->workspace_writable,
                .cgroup_namespace = parts->cgroup_namespace,
                .channel = parts->channel,
                .null = parts->null,
                .log = parts->log,
        };

        bh_runtime_words(boundary->runtime, parts->path, parts->instance->id, words);
        if (bh_launch_run(&launch, &boundary->manager, error) < 0)
                return -1;
        /* Only the boundary's processes hold their ends now: their closing is their end. */
        parts->channel = bh_close(parts->channel);
        parts->log = bh_close(parts->log);
        return watch(boundary, error);
}

int bh_container_build(struct bh_container *boundary, const struct bh_driver_host *host,
                       const struct bh_plan *plan, const struct bh_instance *instance,
                       struct bh_error *error)
{
        _cleanup_(clear_parts) struct parts parts = parts_none;
        struct bh_expected *expected = &boundary->expected;

        parts.plan = plan;
        parts.instance = instance;
        if (bh_expected_fill(expected, host, plan, instance, error) < 0 ||
            make_parts(boundary, host, &parts, error) < 0 || launch(boundary, &parts, error) < 0)
                return -1;
        if (map_manager(boundary, &parts, error) < 0)
                return -1;
        if (send_order(boundary, &parts, error) < 0 || await_ready(boundary, error) < 0)
                return -1;
        expected->init_mapped = true;
        memcpy(expected->seccomp_digest, parts.seccomp.digest, sizeof(parts.seccomp.digest));
        return 0;
}
