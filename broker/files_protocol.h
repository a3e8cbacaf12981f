/* How bulkheadd starts bulkhead-files: its descriptors and its request. The helper's words to
 * bulkhead-api are in protocol.h, "Transfers". */
#ifndef BULKHEAD_BROKER_FILES_PROTOCOL_H
#define BULKHEAD_BROKER_FILES_PROTOCOL_H

/* Descriptor numbers in the helper, fixed at spawn. 0 is a sealed memfd with the request:
 * {"op": an op of protocol.h, "path": "…" ("": the workspace's root), "disk_bytes": n,
 *  "limit": n, "cursor": "…" ("": from the start)}. */
#define BH_FILES_REQUEST_FD       0
#define BH_FILES_TRANSFER_FD      3 /* its other end goes to bulkhead-api */
#define BH_FILES_IMAGE_FD         4
/* Closed by the helper when it changes nothing any more, before it tells the client so. */
#define BH_FILES_RELEASE_FD       5
#define BH_FILES_SPOOL_FD         6 /* an unnamed file on the host; only for archive.put */

/* Whoever is uid 1000 inside owns what it wrote; on the image that id is stored. */
#define BH_FILES_ID               1000

/* What an archive may have beyond the bytes of its files: headers and padding. */
#define BH_FILES_ARCHIVE_OVERHEAD ((int64_t)64 << 20)

#endif
