/* Whether bytes are UTF-8, also when they come in pieces: output of a workload is looked at in
 * pieces of a file that may be far larger than memory should hold. Pure. */
#ifndef BULKHEAD_API_UTF8_SCAN_H
#define BULKHEAD_API_UTF8_SCAN_H

#include <stdbool.h>
#include <stddef.h>

struct bh_utf8_scan {
        char pending[4]; /* the beginning of a sequence that the last piece cut */
        size_t pending_size;
};

/* false: not UTF-8, whatever follows. */
bool bh_utf8_scan_feed(struct bh_utf8_scan *scan, const char *data, size_t size);
/* true when the text may end here, i.e. not inside a sequence. */
bool bh_utf8_scan_finish(const struct bh_utf8_scan *scan);

bool bh_utf8_valid(const char *data, size_t size);

#endif
