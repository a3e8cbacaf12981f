/* The Range header (RFC 9110 section 14.2) on a body of known size. Pure; called by output.c. */
#ifndef BULKHEAD_API_RANGE_H
#define BULKHEAD_API_RANGE_H

#include <stdint.h>

enum bh_range_verdict {
        BH_RANGE_WHOLE,         /* no range, one that may be ignored (another unit, malformed,
                                   several ranges): 200 */
        BH_RANGE_PART,          /* 206 */
        BH_RANGE_UNSATISFIABLE, /* 416 */
};

/* header may be NULL. *ret_first and *ret_length are set with BH_RANGE_PART and BH_RANGE_WHOLE. */
enum bh_range_verdict bh_range_parse(const char *header, uint64_t size, uint64_t *ret_first,
                                     uint64_t *ret_length);

#endif
