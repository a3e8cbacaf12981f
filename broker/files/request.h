/* What bulkheadd wants of this helper; see files_protocol.h. Called by main.c. */
#ifndef BULKHEAD_BROKER_FILES_REQUEST_H
#define BULKHEAD_BROKER_FILES_REQUEST_H

#include <jansson.h>
#include <stdint.h>

#include "base/error.h"
#include "broker/files/place.h"
#include "broker/protocol.h"

struct bh_files_request {
        json_t *document; /* owned; the strings point into it */
        enum bh_op op;
        const char *path; /* "": the root */
        const char *cursor;
        int64_t disk_bytes, limit;
};

int bh_files_request_read(int fd, struct bh_files_request *ret, struct bh_error *error);
void bh_files_request_clear(struct bh_files_request *request);
bool bh_files_request_writes(const struct bh_files_request *request);

/* Where a request is served. */
struct bh_files {
        struct bh_place place;
        int channel; /* to bulkhead-api */
        int release; /* closed once nothing is written any more */
        int spool;
};

/* The operations. Each answers through the channel but for what it returns -1 for. */
int bh_files_get(struct bh_files *files, const struct bh_files_request *request,
                 struct bh_error *error);
int bh_files_put(struct bh_files *files, const struct bh_files_request *request,
                 struct bh_error *error);
int bh_files_delete(struct bh_files *files, const struct bh_files_request *request,
                    struct bh_error *error);
int bh_files_tree(struct bh_files *files, const struct bh_files_request *request,
                  struct bh_error *error);
int bh_files_archive_get(struct bh_files *files, const struct bh_files_request *request,
                         struct bh_error *error);
int bh_files_archive_put(struct bh_files *files, const struct bh_files_request *request,
                         struct bh_error *error);

/* Nothing is changed from here on: executions may have the workspace. */
void bh_files_release(struct bh_files *files);

#endif
