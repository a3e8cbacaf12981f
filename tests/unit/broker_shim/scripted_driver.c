/* See scripted_driver.h. */
#include "scripted_driver.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/pidref.h"

struct scripted_driver scripted_driver;

static char calls[1024];

struct boundary {
        struct bh_boundary base;
        struct bh_pidref process;
        int gate; /* written to by start() */
        int64_t started_us;
};

static bool fails(const char *slot, struct bh_error *error)
{
        if (strlen(calls) + strlen(slot) + 2 < sizeof(calls)) {
                strcat(calls, slot);
                strcat(calls, " ");
        }
        if (!scripted_driver.failing || strcmp(scripted_driver.failing, slot) != 0)
                return false;
        bh_error_set(error, BH_ERROR_INTERNAL, "made to fail");
        bh_error_control(error, "scripted");
        return true;
}

const char *scripted_driver_calls(void)
{
        return calls;
}

static void flood(long bytes)
{
        static char block[65536];

        while (bytes > 0) {
                ssize_t put = write(STDOUT_FILENO, block,
                                    bytes < (long)sizeof(block) ? (size_t)bytes : sizeof(block));

                if (put < 0)
                        _exit(99);
                bytes -= put;
        }
}

static void copy_input(void)
{
        char block[4096];
        ssize_t got;

        while ((got = read(STDIN_FILENO, block, sizeof(block))) > 0) {
                if (bh_write_full(STDOUT_FILENO, block, (size_t)got) < 0)
                        _exit(99);
        }
}

static void carry_out(const char *step)
{
        const char *value = strchr(step, ':');
        long number;

        value = value ? value + 1 : "";
        number = atol(value);
        if (strncmp(step, "out:", 4) == 0)
                (void)bh_write_full(STDOUT_FILENO, value, strlen(value));
        else if (strncmp(step, "err:", 4) == 0)
                (void)bh_write_full(STDERR_FILENO, value, strlen(value));
        else if (strncmp(step, "flood:", 6) == 0)
                flood(number);
        else if (strcmp(step, "cat") == 0)
                copy_input();
        else if (strncmp(step, "sleep:", 6) == 0)
                usleep((useconds_t)number * 1000);
        else if (strncmp(step, "exit:", 5) == 0)
                _exit((int)number);
        else if (strncmp(step, "signal:", 7) == 0)
                (void)raise((int)number);
}

static void run_script(const struct bh_plan *plan, const struct bh_instance *instance, int gate)
{
        char byte;

        if (dup2(instance->stdin_fd, 0) < 0 || dup2(instance->stdout_fd, 1) < 0 ||
            dup2(instance->stderr_fd, 2) < 0 || dup2(gate, 3) < 0 || close_range(4, ~0U, 0) < 0 ||
            read(3, &byte, 1) != 1)
                _exit(98);
        for (char **step = plan->argv; *step; step++)
                carry_out(*step);
        _exit(0);
}

static int prepare(const struct bh_driver_host *host, const struct bh_plan *plan,
                   const struct bh_instance *instance, struct bh_boundary **ret,
                   struct bh_error *error)
{
        struct boundary *boundary;
        int gate[2], status;
        pid_t child;

        (void)host;
        if (fails("prepare", error))
                return -1;
        if (pipe2(gate, O_CLOEXEC) < 0)
                return bh_error_set(error, BH_ERROR_INTERNAL, "pipe");
        child = fork();
        if (child == 0)
                run_script(plan, instance, gate[0]);
        bh_close(gate[0]);
        if (scripted_driver.hang_in_prepare) {
                (void)waitpid(child, &status, 0); /* it waits for the gate */
                bh_close(gate[1]);
                bh_error_set(error, BH_ERROR_INTERNAL, "init is gone");
                return bh_error_control(error, "scripted");
        }
        boundary = bh_alloc(sizeof(*boundary));
        boundary->gate = gate[1];
        boundary->process = BH_PIDREF_NONE;
        if (bh_pidref_open(child, &boundary->process, error) < 0)
                abort();
        boundary->base.driver = scripted_driver_by_name("scripted");
        boundary->base.event_fd = boundary->process.pidfd;
        *ret = &boundary->base;
        if (!scripted_driver.end_in_prepare)
                return 0;
        (void)bh_pidref_signal(&boundary->process, SIGKILL, NULL);
        (void)poll(&(struct pollfd){.fd = boundary->base.event_fd, .events = POLLIN}, 1, -1);
        return 1;
}

static int start(struct bh_boundary *base, struct bh_error *error)
{
        struct boundary *boundary = (struct boundary *)base;

        if (fails("start", error))
                return -1;
        boundary->started_us = bh_monotonic_us();
        return bh_write_full(boundary->gate, "x", 1);
}

static int wait_end(struct bh_boundary *base, struct bh_end *ret, struct bh_error *error)
{
        struct boundary *boundary = (struct boundary *)base;
        int code, status, result;

        if (fails("wait", error))
                return -1;
        result = bh_pidref_wait(&boundary->process, false, &code, &status, error);
        if (result > 0)
                *ret = (struct bh_end){.by_signal = code != CLD_EXITED,
                                       .status = status,
                                       .oom = scripted_driver.oom,
                                       .lost = scripted_driver.lost};
        return result;
}

static int usage(struct bh_boundary *base, struct bh_usage *ret, struct bh_error *error)
{
        struct boundary *boundary = (struct boundary *)base;
        int64_t ran_ms =
                boundary->started_us ? (bh_monotonic_us() - boundary->started_us) / 1000 : 0;

        if (fails("usage", error))
                return -1;
        *ret = (struct bh_usage){.cpu_us = ran_ms * scripted_driver.cpu_us_per_ms,
                                 .memory_peak_bytes = 12345,
                                 .oom_kills = scripted_driver.oom ? 1 : 0};
        return 0;
}

static int kill_all(struct bh_boundary *base, struct bh_error *error)
{
        struct boundary *boundary = (struct boundary *)base;

        if (fails("kill", error))
                return -1;
        return scripted_driver.is_deaf ? 0 : bh_pidref_signal(&boundary->process, SIGKILL, error);
}

static int observe(struct bh_boundary *base, json_t **ret, struct bh_error *error)
{
        (void)base;
        if (fails("observe", error))
                return -1;
        *ret = scripted_driver.hide_evidence
                       ? json_object()
                       : json_pack("{s:{s:n, s:s, s:b}}", "scripted", "observed", "source", "test",
                                   "holds", !scripted_driver.does_not_hold);
        return 0;
}

/* What the shim could not end any more goes with its boundary. */
static void release(struct bh_boundary *base)
{
        struct boundary *boundary = (struct boundary *)base;

        (void)fails("release", NULL);
        if (!boundary)
                return;
        (void)bh_pidref_signal(&boundary->process, SIGKILL, NULL);
        bh_pidref_clear(&boundary->process);
        bh_close(boundary->gate);
        free(boundary);
}

static int destroy(const struct bh_driver_host *host, const char *id, struct bh_error *error)
{
        (void)host;
        (void)id;
        return fails("destroy", error) ? -1 : 0;
}

const struct bh_driver *scripted_driver_by_name(const char *name)
{
        static const struct bh_driver driver = {
                .name = "scripted",
                .prepare = prepare,
                .start = start,
                .wait = wait_end,
                .usage = usage,
                .kill = kill_all,
                .observe = observe,
                .release = release,
                .destroy = destroy,
        };

        return strcmp(name, driver.name) == 0 ? &driver : NULL;
}
