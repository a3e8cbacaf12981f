/* See runtime.h. */
#include "drivers/container/runtime.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/spawn.h"
#include "drivers/container/places.h"

#define VERSION_MAX     4096
#define VERSION_WAIT_US 1000000

/* KVM is known to hang under some hypervisors instead of failing: it is not waited for. The
 * others do not hang, but a busy host makes them slow. */
const struct bh_runtime bh_runtimes[] = {
        {"crun", "crun", NULL, BH_TIER_CONTAINER, 10},
        {"runc", "runc", NULL, BH_TIER_CONTAINER, 10},
        {"runsc-systrap", "runsc", "systrap", BH_TIER_USERKERNEL, 10},
        {"runsc-ptrace", "runsc", "ptrace", BH_TIER_USERKERNEL, 10},
        {"runsc-kvm", "runsc", "kvm", BH_TIER_USERKERNEL, 1},
        {NULL, NULL, NULL, BH_TIER_COUNT, 0},
};

const struct bh_runtime *bh_runtime_by_name(const char *name)
{
        for (const struct bh_runtime *runtime = bh_runtimes; runtime->name; runtime++) {
                if (strcmp(runtime->name, name) == 0)
                        return runtime;
        }
        return NULL;
}

char *bh_runtime_find(const char *program, const char *const directories[])
{
        static const char *const usual[] = {
                "/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin",
                "/sbin",           "/bin",           NULL};

        for (directories = directories ? directories : usual; *directories; directories++) {
                _cleanup_free_ char *path = bh_format("%s/%s", *directories, program);

                if (access(path, X_OK) == 0)
                        return bh_steal_ptr(&path);
        }
        return NULL;
}

/* ---- versions ---- */

/* Everything until the end of the pipe, or the deadline; NUL-terminated. */
static int read_until(int fd, char text[VERSION_MAX], int64_t deadline_us, struct bh_error *error)
{
        size_t used = 0;

        for (;;) {
                struct pollfd slot = {.fd = fd, .events = POLLIN};
                int64_t left_us = deadline_us - bh_monotonic_us();
                ssize_t size;

                if (left_us <= 0)
                        return bh_error_set(error, BH_ERROR_UNAVAILABLE, "it does not answer");
                if (poll(&slot, 1, (int)(left_us / 1000) + 1) <= 0)
                        continue;
                size = read(fd, text + used, VERSION_MAX - 1 - used);
                if (size < 0 && errno == EINTR)
                        continue;
                if (size < 0)
                        return bh_error_errno(error, errno, "read its version");
                used += (size_t)size;
                text[used] = '\0';
                if (size == 0 || used == VERSION_MAX - 1)
                        return 0;
        }
}

int bh_runtime_ask_version(const char *path, char **ret, struct bh_error *error)
{
        char option[] = "--version", *argv[] = {(char *)path, option, NULL};
        _cleanup_free_ char *text = bh_alloc(VERSION_MAX);
        _cleanup_close_ int reading = -1, writing = -1;
        struct bh_spawn spawn = {.path = path, .argv = argv, .fd_count = 1, .new_session = 1};
        struct bh_pidref child = BH_PIDREF_NONE;
        int ends[2], result;

        if (pipe2(ends, O_CLOEXEC) < 0)
                return bh_error_errno(error, errno, "ask %s for its version", path);
        reading = ends[0];
        writing = ends[1];
        spawn.fds = &(struct bh_spawn_fd){.source = writing, .target = STDOUT_FILENO};
        if (bh_spawn(&spawn, &child, error) < 0)
                return -1;
        bh_close(bh_steal_fd(&writing)); /* its end is the program's end */
        result = read_until(reading, text, bh_monotonic_us() + VERSION_WAIT_US, error);
        bh_pidref_signal(&child, SIGKILL, NULL);
        bh_pidref_wait(&child, true, NULL, NULL, NULL);
        bh_pidref_clear(&child);
        if (result < 0)
                return bh_error_prefix(error, "%s --version", path);
        *ret = bh_steal_ptr(&text);
        return 0;
}

/* The word behind a label of the text; its length in *ret_length. NULL without one. */
static const char *find_word(const char *text, const char *label, size_t *ret_length)
{
        const char *found = strstr(text, label);

        if (!found)
                return NULL;
        found += strlen(label);
        *ret_length = strcspn(found, " \n");
        return *ret_length > 0 ? found : NULL;
}

/* Debian's runc says its package's version where others say a commit. */
char *bh_runtime_version(const char *text)
{
        size_t length;
        const char *word = find_word(text, "commit: ", &length);

        if (!word || !memchr(word, '+', length) || !isdigit((unsigned char)*word))
                word = find_word(text, " version ", &length);
        return word ? bh_strndup(word, length) : NULL;
}

/* Negative, 0 or positive, by the first three numbers. */
static int compare_upstream(const char *version, const int wanted[3])
{
        for (size_t i = 0; i < 3; i++) {
                char *end;
                long seen = strtol(version, &end, 10);

                if (end == version || seen != wanted[i])
                        return end == version || seen < wanted[i] ? -1 : 1;
                version = end + (*end == '.');
        }
        return 0;
}

/* Upstream's first version without the fault, and packages of older ones that have the fix. */
static const struct {
        const char *program;
        int fixed[3];
        const char *patched[3]; /* what such a package's version begins with, up to a number … */
        int revision[3];        /* … that is at least this */
        const char *fault;
} faults[] = {
        {"runc",
         {1, 1, 12},
         {"1.1.5+ds1-1+deb12u", "1.0.0~rc93+ds1-5+deb11u", NULL},
         {1, 3, 0},
         "CVE-2024-21626, descriptors that leak into containers"},
        {"crun",
         {1, 4, 4},
         {NULL, NULL, NULL},
         {0, 0, 0},
         "CVE-2022-27650, inheritable capabilities that are not empty"},
};

static bool is_patched(const char *version, const char *const patched[3], const int revision[3])
{
        for (size_t i = 0; i < 3 && patched[i]; i++) {
                size_t length = strlen(patched[i]);

                if (strncmp(version, patched[i], length) == 0 &&
                    strtol(version + length, NULL, 10) >= revision[i])
                        return true;
        }
        return false;
}

int bh_runtime_judge(const char *program, const char *text, struct bh_error *error)
{
        _cleanup_free_ char *version = bh_runtime_version(text);

        if (!version)
                return bh_error_set(error, BH_ERROR_UNAVAILABLE, "%s says no version", program);
        for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
                if (strcmp(faults[i].program, program) != 0 ||
                    compare_upstream(version, faults[i].fixed) >= 0 ||
                    is_patched(version, faults[i].patched, faults[i].revision))
                        continue;
                return bh_error_set(error, BH_ERROR_UNAVAILABLE, "%s %s is unsafe: %s", program,
                                    version, faults[i].fault);
        }
        return 0;
}

/* gVisor's versions end in a date and a number: "0.0~20221219.0", "release-20240212.0". */
const char *bh_runtime_flaw(const char *program, const char *version)
{
        const char *date = strpbrk(version, "~-");

        if (strcmp(program, "runsc") == 0 && date && strtol(date + 1, NULL, 10) <= 20221219)
                return "ls and stat of coreutils fail (it knows no AT_NO_AUTOMOUNT)";
        return NULL;
}

/* ---- calls ---- */

void bh_runtime_words(const struct bh_runtime *runtime, const char *path, const char *id,
                      const char *ret[BH_RUNTIME_WORDS_MAX])
{
        static const char bundle[] = BH_PLACE_BUNDLE;
        static const char *const crun[] = {"--cgroup-manager=disabled", "run", "--bundle", bundle,
                                           "--preserve-fds=1",          NULL};
        /* "rootless": a cgroup that it cannot make is no error. Ours are made and joined by us. */
        static const char *const runc[] = {"--rootless=true",  "run", "--bundle", bundle,
                                           "--preserve-fds=1", NULL};
        static const char *const runsc[] = {"--network=none",
                                            "--ignore-cgroups",
                                            "--overlay2=none",
                                            "run",
                                            "-bundle",
                                            bundle,
                                            NULL};
        static const struct {
                const char *program;
                const char *const *words;
        } calls[] = {{"crun", crun}, {"runc", runc}, {"runsc", runsc}};
        size_t count = 0;

        ret[count++] = path;
        ret[count++] = "--root";
        ret[count++] = BH_PLACE_STATE;
        if (runtime->platform) {
                ret[count++] = "--platform";
                ret[count++] = runtime->platform;
        }
        for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
                if (strcmp(calls[i].program, runtime->program) != 0)
                        continue;
                for (const char *const *word = calls[i].words; *word; word++)
                        ret[count++] = *word;
        }
        ret[count++] = id;
        ret[count] = NULL;
}
