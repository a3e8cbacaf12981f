/* Server-Sent Events, read as they come (WHATWG HTML, section 9.2.6). Pure: bytes in, events
 * out, in pieces of any size. Called by follow.c; fuzzed by tests/fuzz/cli. */
#ifndef BULKHEAD_API_CLI_SSE_H
#define BULKHEAD_API_CLI_SSE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

#define BH_SSE_LINE_MAX  ((size_t)8 << 20)  /* bytes of one line */
#define BH_SSE_EVENT_MAX ((size_t)16 << 20) /* bytes of data in one event */

struct bh_sse_event {
        const char *name; /* "message" when the stream gave none */
        const char *data; /* NUL-terminated; lines joined by LF */
        size_t data_size;
        const char *id; /* of the last event that had one, "" before */
};

/* -1 ends the feeding; error is the handler's own. */
typedef int (*bh_sse_handler)(void *context, const struct bh_sse_event *event,
                              struct bh_error *error);

struct bh_sse;

struct bh_sse *bh_sse_new(bh_sse_handler handler, void *context);
void bh_sse_free(struct bh_sse *parser);

/* 0, or -1: the handler's error, or BH_ERROR_PROTOCOL for a line or event over its cap. An
 * event that has not ended when the stream does is dropped, as the standard wants. */
int bh_sse_feed(struct bh_sse *parser, const char *bytes, size_t size, struct bh_error *error);

/* "" before any; what Last-Event-ID takes after a dropped connection. */
const char *bh_sse_last_id(const struct bh_sse *parser);

/* Forgets an unfinished event, keeps the last id: a new connection begins. */
void bh_sse_restart(struct bh_sse *parser);

#endif
