/* A place to run boundaries in without a broker: directories, cgroups and a mount namespace of
 * the test's own, all gone afterwards. Needs root. */
#ifndef BULKHEAD_TESTS_DRIVERS_LAB_H
#define BULKHEAD_TESTS_DRIVERS_LAB_H

#include <stdbool.h>
#include <stddef.h>

#include "drivers/driver.h"
#include "policy/request.h"

struct bh_lab {
        struct bh_driver_host host;
        char *directory;
        const struct bh_driver *driver;
};

/* Which boundaries it is for: the subprocess driver's, or those of the container driver's runtime
 * that the environment variable BULKHEAD_LAB names ("crun", "runc", "runsc-ptrace"). */
enum bh_tier bh_lab_tier(void);

/* Installs the driver; fails the program when that cannot be. */
void bh_lab_open(struct bh_lab *lab);
void bh_lab_close(struct bh_lab *lab);

/* A group of tests in a lab that is opened for it, and closed after it. */
#define bh_lab_run_tests(lab, tests) \
        bh_lab_run_group(lab, tests, sizeof(tests) / sizeof((tests)[0]))
struct CMUnitTest;
int bh_lab_run_group(struct bh_lab *lab, const struct CMUnitTest *tests, size_t count);

/* A plan of the whole boundary that runs argv (NULL-terminated) in an ephemeral
 * workspace; the caller changes what it wants. */
struct bh_plan *bh_lab_plan(const char *const argv[]);

/* What else an execution is given; zero is nothing. */
struct bh_lab_input {
        int workspace_image; /* an image's descriptor when the plan's workspace is named */
        const char *payload;
        const struct bh_file_entry *files;
        size_t file_count;
        const int *mount_fds; /* sources of the plan's mounts */
        const char *fault;
        int kill_after_ms; /* 0: let it end by itself */
};

struct bh_lab_outcome {
        int prepared; /* prepare's result; the rest only after 0 */
        struct bh_end end;
        struct bh_usage usage;
        char output[8192]; /* stdout and stderr together, NUL-terminated */
        size_t size;
        struct bh_error error;
        json_t *observed; /* after prepare, when asked for */
};

/* Prepare, start, collect, wait, release, destroy. */
void bh_lab_run(const struct bh_lab *lab, const struct bh_plan *plan,
                const struct bh_lab_input *input, struct bh_lab_outcome *ret);

/* The same for a command in the default plan. */
void bh_lab_command(const struct bh_lab *lab, const char *const argv[], struct bh_lab_outcome *ret);

/* Pieces for tests that need them one by one. */
struct bh_lab_instance {
        struct bh_instance instance;
        int output; /* reading end */
};
void bh_lab_instance_open(const struct bh_lab *lab, const struct bh_lab_input *input,
                          struct bh_lab_instance *ret);
void bh_lab_instance_close(struct bh_lab_instance *instance);

/* Waits for the boundary's end, at most ten seconds. */
int bh_lab_wait(struct bh_boundary *boundary, struct bh_end *ret, struct bh_error *error);

/* Its processes as the host sees them; a userkernel's are one, its sentry. */
void bh_lab_processes(const struct bh_boundary *boundary, pid_t *ret_init, pid_t *ret_workload);

/* Lets the next probe look again, where a driver remembers what it found. */
void bh_lab_doubt(const struct bh_lab *lab);

/* What a leak would raise: our descriptors, mounts, children, and executions' cgroups. */
struct bh_lab_count {
        size_t descriptors, mounts, children, cgroups;
};
void bh_lab_count(const struct bh_lab *lab, struct bh_lab_count *ret);

#endif
