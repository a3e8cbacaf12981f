/* The ids of Server-Sent Events: a place in an execution's event stream, such that a client that
 * gives back the last one it saw (Last-Event-ID) loses nothing and sees nothing twice.
 * "s3.o1024.e0": states up to sequence 3, 1024 bytes of stdout and none of stderr were
 * delivered; "….end" after the last event. Pure; called by events.c. */
#ifndef BULKHEAD_API_SSE_ID_H
#define BULKHEAD_API_SSE_ID_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

#define BH_SSE_ID_SIZE 80 /* with NUL */

struct bh_sse_id {
        uint64_t sequence;
        uint64_t output[2]; /* stdout, stderr: offset of the next byte */
        bool ended;
};

void bh_sse_id_format(const struct bh_sse_id *id, char ret[BH_SSE_ID_SIZE]);
/* Only the exact form above. */
int bh_sse_id_parse(const char *text, struct bh_sse_id *ret, struct bh_error *error);

#endif
