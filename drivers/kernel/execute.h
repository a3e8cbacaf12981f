/* The last steps of the workload's own process: its descriptors, its directory, its program; and
 * how it is told that one of them is not to be had. Used by the processes that drivers make for
 * a boundary; async-signal-safe, and needs nothing but libc. */
#ifndef BULKHEAD_DRIVERS_KERNEL_EXECUTE_H
#define BULKHEAD_DRIVERS_KERNEL_EXECUTE_H

#include <stddef.h>

#define BH_EXECUTE_CHANNEL_FD 3 /* in the workload's process, until execve closes it */

/* Leaves descriptors 0-2, from fds, and the channel, which execve closes. 0 or -errno. */
int bh_execute_place(const int fds[3], int channel);

/* Beneath the root and through no magic link, so that no descriptor of another tree can become
 * the working directory (openat2(2)). 0 or -errno. */
int bh_execute_enter(const char *path);

/* Waits for the shim's leave; without it the shim is gone, and the process ends. */
void bh_execute_await_leave(int channel);

/* Bytes of scratch space that bh_execute needs: no memory is allocated there. */
size_t bh_execute_room(char *const *argv, char *const *environment);

/* Becomes the program, looked for along the environment's PATH. `absent` is the working
 * directory that could not be entered, or NULL. What fails is told on stderr, and the exit code
 * is 127 or 126, as shells have it (POSIX, 2.8.2). */
void bh_execute(char *const *argv, char *const *environment, char *room, const char *absent)
        __attribute__((noreturn));

#endif
