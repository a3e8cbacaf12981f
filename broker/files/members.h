/* What an archive's members may be, judged by their names alone, before one of them is written.
 * Pure. Called by archive_check.c for each member and once at the end.
 *
 * A member is a regular file, a directory, a symbolic link, or another name of a regular file
 * that came before it. Its name is relative and has no empty, "." or ".." component (leading "./"
 * and trailing "/" are taken off); no set-user-id or set-group-id bit; no name twice but for
 * directories; and what leads to it is a directory. The target of a symbolic link is relative,
 * has ".." only at its beginning, and not more of them than the link lies deep: since all that
 * leads to a link are directories, it then stays in the tree whatever else the tree holds. */
#ifndef BULKHEAD_BROKER_FILES_MEMBERS_H
#define BULKHEAD_BROKER_FILES_MEMBERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/cleanup.h"
#include "base/error.h"

#define BH_MEMBERS_MAX 100000

struct bh_member {
        const char *name;   /* as the archive has it */
        const char *target; /* of a link of either kind; else NULL */
        mode_t mode;        /* type and permissions; the type of a hard link is ignored */
        bool hard_link;
        int64_t size;
};

struct bh_members;

/* bytes_max: of all files together. */
struct bh_members *bh_members_new(int64_t bytes_max);
void bh_members_free(struct bh_members *members);
BH_DEFINE_CLEANUP(struct bh_members *, bh_members, bh_members_free);

/* -1: "archive_not_allowed" or "workspace_full". */
int bh_members_add(struct bh_members *members, const struct bh_member *member,
                   struct bh_error *error);
/* What only all of them together show. After it the members are sorted by path. */
int bh_members_finish(struct bh_members *members, struct bh_error *error);

/* The members: all but the root directory itself. path is normalised. */
size_t bh_members_count(const struct bh_members *members);
const char *bh_members_path(const struct bh_members *members, size_t index);
bool bh_members_is_directory(const struct bh_members *members, size_t index);

/* Room that they need on a file system of this block size, directories and links counted. */
int64_t bh_members_room(const struct bh_members *members, int64_t block);

/* name as it is on disk, "" for the root. Caller frees. -1: "archive_not_allowed". */
int bh_member_path(const char *name, char **ret, struct bh_error *error);

#endif
