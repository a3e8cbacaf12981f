/* The helper's end of a transfer (broker/protocol.h): one answer's head, pieces out, pieces in.
 * Every message that passes pushes the helper's own deadline out; a peer that does nothing for
 * that long ends it by SIGALRM. Called by all of broker/files. */
#ifndef BULKHEAD_BROKER_FILES_CHANNEL_H
#define BULKHEAD_BROKER_FILES_CHANNEL_H

#include <jansson.h>
#include <stddef.h>

#include "base/error.h"

/* Without progress for this long the helper ends. */
#define BH_FILES_STALL_SECONDS 180U

void bh_files_progress(void);

/* {"status", "body"}; takes body, which may be NULL; passed: a descriptor for the client's bytes,
 * or -1. */
int bh_files_send_head_take(int channel, int status, json_t *body, int passed,
                            struct bh_error *error);
/* {"status": 200, "content_type"}: pieces follow. */
int bh_files_send_stream(int channel, const char *content_type, struct bh_error *error);
/* The head of a refusal or failure. */
void bh_files_send_problem(int channel, const struct bh_error *problem);

/* Of any size: sent in pieces. */
int bh_files_send_data(int channel, const void *data, size_t size, struct bh_error *error);
int bh_files_send_end(int channel, struct bh_error *error);

/* A piece of the client's body, at most BH_TRANSFER_PIECE_MAX bytes. 1: it has *ret_size bytes,
 * 0: that was all, -1: BH_ERROR_CLOSED when the client gave up. */
int bh_files_receive(int channel, void *buffer, size_t *ret_size, struct bh_error *error);

#endif
