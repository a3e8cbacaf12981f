/* Every step beneath a workspace's root. The tree is the workload's: names mean what it made of
 * them, so each look-up is openat2(2) with RESOLVE_BENEATH, NO_SYMLINKS, NO_MAGICLINKS and
 * NO_XDEV, nothing blocks on what is no regular file, and what comes into being has no special
 * mode bit. Called by all of broker/files. */
#ifndef BULKHEAD_BROKER_FILES_PLACE_H
#define BULKHEAD_BROKER_FILES_PLACE_H

#include <jansson.h>
#include <stdbool.h>
#include <sys/stat.h>

#include "base/error.h"

struct bh_place {
        int root;        /* the workspace's root directory */
        int descriptors; /* /proc/self/fd, by which an unnamed file gets a name */
};

/* Says what an errno value means for path. Returns -1. */
int bh_place_error(int errnum, const char *path, struct bh_error *error);

/* Returns a descriptor, or -1 with errno. path "" is the directory itself. */
int bh_place_open(int directory, const char *path, int flags);

/* The directory that path's last component is in, as O_PATH, missing ones made when asked.
 * *ret_name points into path. 1: *ret_fd filled, 0: a component does not exist, -1. */
int bh_place_parent(const struct bh_place *place, const char *path, bool make, int *ret_fd,
                    const char **ret_name, struct bh_error *error);

/* Makes path and what leads there; one that exists is fine. */
int bh_place_directory(const struct bh_place *place, const char *path, mode_t mode,
                       struct bh_error *error);

/* Whether a regular file may come to lie at path: 1: one is there (*ret filled), 0: nothing is,
 * -1: something else is, or on the way. */
int bh_place_check_file(const struct bh_place *place, const char *path, struct stat *ret,
                        struct bh_error *error);

/* A file without a name, gone with its descriptor. Returns it, or -1. */
int bh_place_unnamed(const struct bh_place *place, struct bh_error *error);

/* Gives an unnamed file its name in one step, in place of a regular file or link that has it.
 * Missing directories are made. */
int bh_place_name(const struct bh_place *place, int fd, const char *path, struct bh_error *error);

/* The same for a symbolic link, and for another name of a file. */
int bh_place_symlink(const struct bh_place *place, const char *target, const char *path,
                     struct bh_error *error);
int bh_place_link(const struct bh_place *place, const char *target, const char *path,
                  struct bh_error *error);

/* Whether path is the file system's own: the lost+found that mkfs made. */
bool bh_place_is_hidden(const char *path, const struct stat *st);

/* One item of a listing; NULL for what is no file, directory or link. */
json_t *bh_place_describe(const char *path, const struct stat *st);

#endif
