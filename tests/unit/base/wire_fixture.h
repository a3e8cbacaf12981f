/* What the two tests of base/wire share. */
#ifndef BULKHEAD_TESTS_WIRE_FIXTURE_H
#define BULKHEAD_TESTS_WIRE_FIXTURE_H

#include <stddef.h>

#include "base/wire.h"

/* Descriptors open in this process (and a constant more). */
size_t wire_count_open(void);

/* The next frame of channel must be {"n": n} with fd_count descriptors. */
void wire_assert_received(struct bh_channel *channel, int n, size_t fd_count);

/* Receiving must fail, with problem in the message, now and when tried again. */
void wire_assert_receive_fails(struct bh_channel *channel, enum bh_error_code code,
                               const char *problem);

#endif
