/* File descriptors and the few whole-file reads and writes that the programs do.
 * Every descriptor made here is close-on-exec. */
#ifndef BULKHEAD_BASE_FD_H
#define BULKHEAD_BASE_FD_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

/* Closes fd when it is >= 0, keeping errno. Returns -1, for `fd = bh_close(fd)`. */
int bh_close(int fd);

/* Opens path below directory with RESOLVE_BENEATH|RESOLVE_NO_SYMLINKS|RESOLVE_NO_MAGICLINKS
 * (openat2(2)). flags gain O_CLOEXEC. Returns the descriptor, or -1. */
int bh_open_beneath(int directory, const char *path, int flags, mode_t mode,
                    struct bh_error *error);

/* Makes every missing directory of path (absolute) with mode; opens the last as O_PATH-free
 * O_DIRECTORY descriptor. Returns it, or -1. */
int bh_make_directory(const char *path, mode_t mode, struct bh_error *error);

/* Loops over short reads and EINTR. Returns bytes read (less than size only at EOF), or -1
 * with errno set. */
ssize_t bh_read_full(int fd, void *buffer, size_t size);
ssize_t bh_pread_full(int fd, void *buffer, size_t size, off_t offset);
/* Returns 0 when all was written, or -1 with errno set. */
int bh_write_full(int fd, const void *buffer, size_t size);

/* Reads a whole file of at most max bytes into a NUL-terminated buffer (caller frees).
 * directory may be AT_FDCWD. Longer files are BH_ERROR_INVALID. */
int bh_read_file(int directory, const char *path, size_t max, char **ret_data, size_t *ret_size,
                 struct bh_error *error);

/* Writes to a temporary name, fsyncs, renames over path, fsyncs the directory. */
int bh_write_file_atomic(int directory, const char *path, const void *data, size_t size,
                         mode_t mode, struct bh_error *error);

/* One write(2) of text to an existing file such as a cgroup or /proc attribute. */
int bh_write_attribute(int directory, const char *path, const char *text, struct bh_error *error);

/* A memfd holding data, sealed against every change. Returns it, or -1. */
int bh_memfd_sealed(const char *name, const void *data, size_t size, struct bh_error *error);

/* 0 when fd is a memfd sealed against shrinking, growing and writing; else -1. */
int bh_memfd_check_sealed(int fd, struct bh_error *error);

#endif
