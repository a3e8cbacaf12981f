/* The files of the audit log: their names, their lines, finding an entry. Called by audit.c. */
#ifndef BULKHEAD_BROKER_DAEMON_AUDIT_FILE_H
#define BULKHEAD_BROKER_DAEMON_AUDIT_FILE_H

#include <stdint.h>
#include <sys/types.h>

#include "base/json.h"

#define BH_AUDIT_NAME_SIZE 40

void bh_audit_file_name(int64_t first, char ret[BH_AUDIT_NAME_SIZE]);

/* First sequence numbers of the files in directory, ascending; caller frees. */
int bh_audit_files(int directory, int64_t **ret, size_t *ret_count, struct bh_error *error);

/* Reads the line that starts at offset. 1 and the entry and the offset after it, 0 at the end
 * or at an unfinished last line, -1 when it is no entry. */
int bh_audit_line(int fd, off_t offset, json_t **ret, off_t *ret_next, struct bh_error *error);

/* Offset of the first entry whose sequence is greater than after: a binary search over bytes,
 * since lines ascend. */
int bh_audit_seek(int fd, int64_t after, off_t *ret, struct bh_error *error);

#endif
