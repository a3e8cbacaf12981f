/* A transfer (broker/protocol.h): a client's body to the helper that serves its request, the
 * helper's answer to the client. Bytes are passed on as fast as the slower side takes them, and
 * never collected. Made when the broker replies with the socket; called by exchange.c and, for the
 * answer's bytes, by libmicrohttpd. */
#ifndef BULKHEAD_API_TRANSFER_H
#define BULKHEAD_API_TRANSFER_H

#include <microhttpd.h>
#include <stddef.h>

#include "base/wire.h"

struct bh_exchange;
struct bh_transfer;

/* The broker's reply to a route of transfers: takes its socket. A row's answer function. */
void bh_answer_transfer(struct bh_exchange *exchange, struct bh_frame *frame);

/* libmicrohttpd has a piece of the body, or (*size == 0) the body has ended. */
enum MHD_Result bh_transfer_upload(struct bh_exchange *exchange, const char *data, size_t *size);

/* The exchange is going. Accepts NULL. */
void bh_transfer_leave(struct bh_transfer *transfer);

#endif
