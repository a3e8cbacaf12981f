/* A JSON text whose string values may be the bytes of files: what GET /v1/executions/{id} answers.
 * The bytes are encoded piece by piece while they are sent, so that an execution with 64 MiB of
 * output costs the API 64 KiB. Called by executions.c, pulled by reply.c. */
#ifndef BULKHEAD_API_STREAM_TEXT_H
#define BULKHEAD_API_STREAM_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/cleanup.h"
#include "base/error.h"

struct bh_stream_text;

struct bh_stream_text *bh_stream_text_new(void);
void bh_stream_text_free(struct bh_stream_text *text);
BH_DEFINE_CLEANUP(struct bh_stream_text *, bh_stream_text, bh_stream_text_free);

void bh_stream_text_add(struct bh_stream_text *text, const char *piece);
/* The first size bytes of fd, which stays the caller's until it is duplicated here, as the inside
 * of a JSON string: escaped when base64 is false (they must be UTF-8), else base64. */
int bh_stream_text_add_file(struct bh_stream_text *text, int fd, uint64_t size, bool base64,
                            struct bh_error *error);

/* Writes at most size (at least 64) bytes. 0: the end. -1: a file could not be read as said. */
ssize_t bh_stream_text_read(struct bh_stream_text *text, char *buffer, size_t size,
                            struct bh_error *error);

/* Whether the first size bytes of fd are UTF-8. -1 when they cannot be read. */
int bh_file_is_utf8(int fd, uint64_t size, struct bh_error *error);

/* Escapes as much of data as fits; returns bytes written, *ret_used bytes taken. */
size_t bh_json_escape(const char *data, size_t size, char *buffer, size_t buffer_size,
                      size_t *ret_used);

#endif
