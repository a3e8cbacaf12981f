/* See lab.h. */
#include "lab.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "drivers/container/boundary.h"
#include "drivers/container/choice.h"
#include "drivers/kernel/cgroup.h"
#include "drivers/kernel/gateway.h"
#include "drivers/subprocess/boundary.h"
#include "policy/controls.h"
#include "policy/strings.h"

#define UID_BASE       310000
#define END_TIMEOUT_MS 10000
#define PROC_TABLE_MAX ((size_t)1 << 20)

static void die(const char *what, const struct bh_error *error)
{
        fprintf(stderr, "%s: [%s] %s\n", what, error ? error->subject : "",
                error ? error->message : strerror(errno));
        exit(EXIT_FAILURE);
}

/* What BULKHEAD_LAB names: a runtime of the container driver, or nothing for the subprocess
 * driver. */
static const struct bh_runtime *chosen_runtime(void)
{
        const char *name = getenv("BULKHEAD_LAB");
        const struct bh_runtime *runtime = name ? bh_runtime_by_name(name) : NULL;

        if (name && !runtime)
                die(name, NULL);
        return runtime;
}

enum bh_tier bh_lab_tier(void)
{
        const struct bh_runtime *runtime = chosen_runtime();

        return runtime ? runtime->tier : BH_TIER_SUBPROCESS;
}

void bh_lab_open(struct bh_lab *lab)
{
        const struct bh_driver *driver =
                bh_driver_by_name(chosen_runtime() ? "container" : "subprocess");
        char directory[] = "/tmp/bulkhead-lab-XXXXXX";
        struct bh_error error;

        if (unshare(CLONE_NEWNS) < 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
            !mkdtemp(directory))
                die("open the lab", NULL);
        lab->directory = bh_strdup(directory);
        lab->driver = driver;
        lab->host = (struct bh_driver_host){
                .state_dir = bh_format("%s/state", directory),
                .run_dir = bh_format("%s/run", directory),
                .cgroup_parent = bh_format("bulkhead-lab.%d", (int)getpid()),
                .uid_base = UID_BASE,
        };
        if (driver->install(&lab->host, &error) < 0)
                die("install the driver", &error);
}

static int remove_entry(const char *path, const struct stat *status, int type, struct FTW *walk)
{
        (void)status;
        (void)type;
        (void)walk;
        return remove(path);
}

void bh_lab_close(struct bh_lab *lab)
{
        _cleanup_free_ char *root = bh_format("%s/roots/%s", lab->host.run_dir,
                                              chosen_runtime() ? "container" : "host");
        struct bh_error error;

        umount2(root, MNT_DETACH);
        if (bh_cgroup_uninstall(&lab->host, &error) < 0)
                die("close the lab", &error);
        nftw(lab->directory, remove_entry, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
        free(lab->directory);
        free(lab->host.state_dir);
        free(lab->host.run_dir);
        free(lab->host.cgroup_parent);
}

int bh_lab_run_group(struct bh_lab *lab, const struct CMUnitTest *tests, size_t count)
{
        int failed;

        bh_lab_open(lab);
        failed = _cmocka_run_group_tests("tests", tests, count, NULL, NULL);
        bh_lab_close(lab);
        return failed;
}

struct bh_plan *bh_lab_plan(const char *const argv[])
{
        static const char *const environment[] = {"PATH=/usr/local/bin:/usr/bin:/bin",
                                                  "HOME=/workspace", "LANG=C.UTF-8"};
        struct bh_plan *plan = bh_alloc(sizeof(*plan));
        size_t argc = 0;

        while (argv[argc])
                argc++;
        plan->required_tier = plan->tier = bh_lab_tier();
        plan->driver = bh_strdup(chosen_runtime() ? "container" : "subprocess");
        plan->image = bh_strdup("host");
        plan->argv = bh_strings_copy((char *const *)argv, argc);
        plan->cwd = bh_strdup("/workspace");
        plan->environment = bh_strings_copy((char *const *)environment, 3);
        plan->inside_uid = plan->inside_gid = 1000;
        plan->limits.value[BH_LIMIT_WALL_MS] = 10000;
        plan->limits.value[BH_LIMIT_CPU_MS] = 10000;
        plan->limits.value[BH_LIMIT_MEMORY_BYTES] = (int64_t)128 << 20;
        plan->limits.value[BH_LIMIT_PIDS] = 32;
        plan->limits.value[BH_LIMIT_DISK_BYTES] = (int64_t)16 << 20;
        plan->limits.value[BH_LIMIT_OUTPUT_BYTES] = (int64_t)1 << 20;
        plan->workspace_kind = BH_WORKSPACE_EPHEMERAL;
        plan->workspace_writable = true;
        plan->scratch_backing = BH_SCRATCH_TMPFS;
        plan->scratch_bytes = (int64_t)16 << 20;
        plan->scratch_inodes = 1024;
        plan->shm_bytes = (int64_t)8 << 20;
        plan->reasons = json_array();
        bh_plan_set_controls(plan);
        return plan;
}

void bh_lab_instance_open(const struct bh_lab *lab, const struct bh_lab_input *input,
                          struct bh_lab_instance *ret)
{
        struct bh_error error;
        int out[2], in[2];

        if (pipe2(out, O_CLOEXEC) < 0 || pipe2(in, O_CLOEXEC) < 0)
                die("make pipes", NULL);
        bh_close(in[1]); /* no input: an end at once */
        ret->output = out[0];
        ret->instance = (struct bh_instance){
                .workload_uid = lab->host.uid_base + 10,
                .init_uid = lab->host.uid_base + 11,
                .stdin_fd = in[0],
                .stdout_fd = out[1],
                .stderr_fd = fcntl(out[1], F_DUPFD_CLOEXEC, 0),
                .gateway_fd = bh_gateway_make(&error),
                .payload_fd = -1,
                .workspace_fd = input && input->workspace_image > 0 ? input->workspace_image : -1,
                .files = input ? input->files : NULL,
                .file_count = input ? input->file_count : 0,
                .mount_fds = input ? input->mount_fds : NULL,
                .fault = input ? input->fault : NULL,
                .variant = chosen_runtime() ? chosen_runtime()->name : NULL,
        };
        bh_id_make("ex_", ret->instance.id);
        if (ret->instance.gateway_fd < 0)
                die("make a gateway", &error);
        if (input && input->payload) {
                ret->instance.payload_fd =
                        bh_memfd_sealed("payload", input->payload, strlen(input->payload), &error);
                if (ret->instance.payload_fd < 0)
                        die("make a payload", &error);
        }
}

/* The workload's ends of the pipes, so that reading meets its end. */
static void close_workload_ends(struct bh_lab_instance *instance)
{
        instance->instance.stdin_fd = bh_close(instance->instance.stdin_fd);
        instance->instance.stdout_fd = bh_close(instance->instance.stdout_fd);
        instance->instance.stderr_fd = bh_close(instance->instance.stderr_fd);
}

void bh_lab_instance_close(struct bh_lab_instance *instance)
{
        close_workload_ends(instance);
        instance->instance.gateway_fd = bh_close(instance->instance.gateway_fd);
        instance->instance.payload_fd = bh_close(instance->instance.payload_fd);
        instance->output = bh_close(instance->output);
}

int bh_lab_wait(struct bh_boundary *boundary, struct bh_end *ret, struct bh_error *error)
{
        int64_t until = bh_monotonic_us() + (int64_t)END_TIMEOUT_MS * 1000;
        struct pollfd event = {.fd = boundary->event_fd, .events = POLLIN};
        int result = 0;

        /* An event may be no more than a step towards the end. */
        while (result == 0 && bh_monotonic_us() < until) {
                if (poll(&event, 1, END_TIMEOUT_MS) == 1)
                        result = boundary->driver->wait(boundary, ret, error);
        }
        return result;
}

/* Reads to the end, or until a kill is due. Past the room, output is dropped. */
static void collect(struct bh_boundary *boundary, int output, int kill_after_ms,
                    struct bh_lab_outcome *ret)
{
        int64_t until = bh_monotonic_us() + (kill_after_ms ? kill_after_ms : END_TIMEOUT_MS) * 1000;
        struct pollfd readable = {.fd = output, .events = POLLIN};

        for (;;) {
                char data[4096];
                int64_t left = (until - bh_monotonic_us()) / 1000;
                ssize_t size;

                if (left < 0 || poll(&readable, 1, (int)left) <= 0) {
                        if (boundary->driver->kill(boundary, &ret->error) < 0)
                                die("kill", &ret->error);
                        until += END_TIMEOUT_MS * 1000;
                        continue;
                }
                size = read(output, data, sizeof(data));
                if (size <= 0)
                        return;
                if ((size_t)size > sizeof(ret->output) - 1 - ret->size)
                        size = (ssize_t)(sizeof(ret->output) - 1 - ret->size);
                memcpy(ret->output + ret->size, data, (size_t)size);
                ret->size += (size_t)size;
        }
}

static void run_to_end(struct bh_boundary *boundary, struct bh_lab_instance *instance,
                       const struct bh_lab_input *input, struct bh_lab_outcome *ret)
{
        if (boundary->driver->observe(boundary, &ret->observed, &ret->error) < 0)
                die("observe", &ret->error);
        if (boundary->driver->start(boundary, &ret->error) < 0)
                die("start", &ret->error);
        close_workload_ends(instance);
        collect(boundary, instance->output, input ? input->kill_after_ms : 0, ret);
        if (bh_lab_wait(boundary, &ret->end, &ret->error) != 1)
                die("wait", &ret->error);
        if (boundary->driver->usage(boundary, &ret->usage, &ret->error) < 0)
                die("usage", &ret->error);
}

void bh_lab_run(const struct bh_lab *lab, const struct bh_plan *plan,
                const struct bh_lab_input *input, struct bh_lab_outcome *ret)
{
        struct bh_boundary *boundary = NULL;
        struct bh_lab_instance instance;
        struct bh_error error;

        memset(ret, 0, sizeof(*ret));
        bh_lab_instance_open(lab, input, &instance);
        ret->prepared =
                lab->driver->prepare(&lab->host, plan, &instance.instance, &boundary, &ret->error);
        if (ret->prepared == 0)
                run_to_end(boundary, &instance, input, ret);
        lab->driver->release(boundary);
        if (lab->driver->destroy(&lab->host, instance.instance.id, &error) < 0)
                die("destroy", &error);
        bh_lab_instance_close(&instance);
}

void bh_lab_command(const struct bh_lab *lab, const char *const argv[], struct bh_lab_outcome *ret)
{
        _cleanup_(bh_plan_cleanup) struct bh_plan *plan = bh_lab_plan(argv);

        bh_lab_run(lab, plan, NULL, ret);
        json_decref(ret->observed);
        ret->observed = NULL;
}

static size_t count_lines(const char *path)
{
        _cleanup_free_ char *text = NULL;
        struct bh_error error;
        size_t lines = 0;

        if (bh_read_file(AT_FDCWD, path, PROC_TABLE_MAX, &text, NULL, &error) < 0)
                die(path, &error);
        for (const char *c = text; *c; c++)
                lines += *c == '\n';
        return lines;
}

static size_t count_descriptors(void)
{
        DIR *directory = opendir("/proc/self/fd");
        size_t count = 0;

        while (readdir(directory))
                count++;
        closedir(directory);
        return count;
}

void bh_lab_count(const struct bh_lab *lab, struct bh_lab_count *ret)
{
        char **remains = NULL;
        struct bh_error error;
        siginfo_t info = {.si_pid = 0};

        if (bh_cgroup_list(&lab->host, &remains, &error) < 0)
                die("list cgroups", &error);
        ret->cgroups = 0;
        for (char **name = remains; *name; name++, ret->cgroups++)
                free(*name);
        free(remains);
        ret->descriptors = count_descriptors();
        ret->mounts = count_lines("/proc/self/mountinfo");
        ret->children = waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 ? 1 : 0;
}

void bh_lab_processes(const struct bh_boundary *boundary, pid_t *ret_init, pid_t *ret_workload)
{
        if (boundary->driver == &bh_container_driver) {
                *ret_init = ((const struct bh_container *)boundary)->init.pid;
                *ret_workload = ((const struct bh_container *)boundary)->workload.pid;
                return;
        }
        *ret_init = ((const struct bh_subprocess *)boundary)->init.pid;
        *ret_workload = ((const struct bh_subprocess *)boundary)->workload.pid;
}

void bh_lab_doubt(const struct bh_lab *lab)
{
        if (lab->driver == &bh_container_driver)
                bh_choice_doubt(&lab->host, bh_lab_tier());
}
