/* Identifiers: ULIDs (https://github.com/ulid/spec, lower case here so that they may stand in
 * any file or cgroup name), sorted by time, unique within this process even inside one
 * millisecond. */
#ifndef BULKHEAD_BASE_ULID_H
#define BULKHEAD_BASE_ULID_H

#include <stdbool.h>

#define BH_ULID_LENGTH 26
#define BH_ID_SIZE     40 /* any prefix + ULID + NUL */

/* "<prefix><ulid>", e.g. bh_id_make("ex_", id). */
void bh_id_make(const char *prefix, char ret[BH_ID_SIZE]);

/* true when text is exactly prefix + a ULID. */
bool bh_id_valid(const char *prefix, const char *text);

#endif
