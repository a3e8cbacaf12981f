/* Reading archives: how libarchive is set up for what a stranger sends (tar alone,
 * uncompressed), and the first of two readings, which writes nothing. Called by
 * archive_put.c, and by the fuzzer. */
#ifndef BULKHEAD_BROKER_FILES_ARCHIVE_CHECK_H
#define BULKHEAD_BROKER_FILES_ARCHIVE_CHECK_H

#include <archive.h>
#include <archive_entry.h>

#include "broker/files/members.h"

/* A reader that is not opened yet. */
struct archive *bh_archive_reader(void);
BH_DEFINE_CLEANUP(struct archive *, bh_archive_reader, archive_read_free);

/* What the rules judge of an entry; borrowed from it. */
struct bh_member bh_archive_member(struct archive_entry *entry);

/* The next entry. 1, 0 at the end, -1. */
int bh_archive_next(struct archive *archive, struct archive_entry **ret, struct bh_error *error);

/* Hands each piece of the present entry's bytes to sink; holes are left out. */
typedef int (*bh_archive_sink)(void *context, const void *data, size_t size, int64_t offset,
                               struct bh_error *error);
int bh_archive_data(struct archive *archive, bh_archive_sink sink, void *context,
                    struct bh_error *error);

/* Reads an opened archive to its end and judges all that it holds. */
int bh_archive_check(struct archive *archive, struct bh_members *members, struct bh_error *error);

#endif
