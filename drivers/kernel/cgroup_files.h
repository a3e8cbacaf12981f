/* The attribute files of one cgroup directory: what the two kernel interfaces call things and
 * how they write numbers. Used by cgroup.c and cgroup_remove.c. Every function takes a directory
 * descriptor, so that it runs on a made-up directory as well as on a real one. */
#ifndef BULKHEAD_DRIVERS_KERNEL_CGROUP_FILES_H
#define BULKHEAD_DRIVERS_KERNEL_CGROUP_FILES_H

#include <stdint.h>

#include "drivers/driver.h"

/* The name of one directory, never a path. */
int bh_cgroup_check_name(const char *name, struct bh_error *error);

/* The directory as an O_PATH descriptor, or -1 with errno. */
int bh_cgroup_open(const char *path);

/* One number; "max" is INT64_MAX. */
int bh_cgroup_read_number(int directory, const char *file, int64_t *ret, struct bh_error *error);

/* The number behind key in a "key number" file. */
int bh_cgroup_read_keyed(int directory, const char *file, const char *key, int64_t *ret,
                         struct bh_error *error);

/* Writes a number and sees the kernel hold exactly expected. */
int bh_cgroup_set_number(int directory, const char *file, int64_t value, int64_t expected,
                         struct bh_error *error);

/* Same file in v1 and v2. */
int bh_cgroup_set_pids(int directory, int64_t pids, struct bh_error *error);

/* Limits memory, swap included. The kernel counts in pages and rounds down. */
int bh_cgroup_v2_set_memory(int directory, int64_t bytes, struct bh_error *error);
int bh_cgroup_v1_set_memory(int directory, int64_t bytes, struct bh_error *error);

/* 0 when a limit on memory alone is a limit on memory and swap because there is no swap. */
int bh_cgroup_check_no_swap(const char *swaps_path, struct bh_error *error);

/* CPU time of all that ever ran in it, by cpu.stat (v2) or cpuacct.usage (v1). */
int bh_cgroup_v2_cpu(int directory, int64_t *ret_us, struct bh_error *error);
int bh_cgroup_v1_cpu(int directory, int64_t *ret_us, struct bh_error *error);

/* Fills the peak and the kills, and leaves the CPU time alone. */
int bh_cgroup_v2_memory(int directory, struct bh_usage *ret, struct bh_error *error);
int bh_cgroup_v1_memory(int directory, struct bh_usage *ret, struct bh_error *error);

/* {"limit_bytes", "swap": …, "peak_bytes"}; an unreadable number is null. */
json_t *bh_cgroup_v2_observe_memory(int directory);
json_t *bh_cgroup_v1_observe_memory(int directory);

/* SIGKILL to every process listed in the directory's cgroup.procs, through pidfds. */
int bh_cgroup_v1_signal_members(int directory, struct bh_error *error);

/* Freezes, signals every member, thaws: nothing can fork its way out in between. */
int bh_cgroup_v1_freeze_and_kill(int directory, struct bh_error *error);

#endif
