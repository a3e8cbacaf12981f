/* A broker for tests: starts a shim over a socketpair, talks to it, looks at its directory.
 * Every wait is bounded; what does not come fails the test. */
#ifndef BULKHEAD_TESTS_BROKER_SHIM_BROKER_DOUBLE_H
#define BULKHEAD_TESTS_BROKER_SHIM_BROKER_DOUBLE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/wire.h"

struct broker_double {
        char path[64]; /* the execution's directory */
        int directory;
        pid_t shim;
        struct bh_channel *channel; /* NULL: the broker is dead */
};

/* Runs in the new process with the shim's end of the channel; returns its exit status. */
typedef int (*broker_double_shim)(void *data, int channel_fd);

void broker_double_open(struct broker_double *broker, broker_double_shim shim, void *data);

/* Ends the shim if it is still there, and removes the directory. */
void broker_double_close(struct broker_double *broker);

/* Sends the order with, unless NULL, a payload. Takes order. */
void broker_double_order_take(struct broker_double *broker, json_t *order, const void *payload,
                              size_t payload_size);
/* Lets the workload run. */
void broker_double_go(struct broker_double *broker);
/* Both. */
void broker_double_start_take(struct broker_double *broker, json_t *order, const void *payload,
                              size_t payload_size);
void broker_double_say(struct broker_double *broker, const char *text);

/* The next frame of this type; others before it are dropped. Caller frees. NULL: the channel
 * ended instead. */
json_t *broker_double_hear(struct broker_double *broker, const char *type);

/* The broker dies; a new one connects to control.sock and adopts. */
void broker_double_die(struct broker_double *broker);
void broker_double_adopt(struct broker_double *broker);

/* Waits for the shim's end and returns its wait status. */
int broker_double_wait_shim(struct broker_double *broker);

bool broker_double_has_file(const struct broker_double *broker, const char *name);

/* Text of a file in the directory; caller frees. */
char *broker_double_read(const struct broker_double *broker, const char *name, size_t *ret_size);

/* result.json; caller frees. */
json_t *broker_double_stored_result(const struct broker_double *broker);

#endif
