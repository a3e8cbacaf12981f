/* A whole broker in this process, on a state directory of its own: the test speaks for
 * bulkhead-api and for every shim, on the real channels. */
#ifndef BULKHEAD_TESTS_UNIT_BROKER_FIXTURE_H
#define BULKHEAD_TESTS_UNIT_BROKER_FIXTURE_H

#include <sys/stat.h>

#include "unit.h"

#include "base/wire.h"
#include "broker/daemon/daemon.h"

#define FIXTURE_SHIMS_MAX 512

/* Makes fixture.daemon. policy and config are documents ('-quoted), NULL for the defaults. */
int fixture_start(const char *config, const char *policy);
/* As kill -9 would leave it, with the state directory kept. */
void fixture_crash(void);
/* Ends it and removes the state directory. */
void fixture_stop(void);

extern struct fixture {
        char directory[64];
        struct bh_daemon *daemon;
        struct bh_channel *api;
        struct bh_channel *shims[FIXTURE_SHIMS_MAX];
        size_t shim_count;
        size_t destroyed; /* calls of the destroy seam */
        char last_destroyed[BH_ID_SIZE];
        bool host_unavailable; /* what the next probe says */
        bool no_spawn;         /* no shim can be started */
        size_t probes;
        size_t reply_fds;          /* descriptors that came with the last reply */
        size_t order_fds;          /* the same with the last start order */
        struct stat last_order_fd; /* what the last of those is */
        int64_t next_id;
} fixture;

/* Lets the broker do all it can now. */
void fixture_settle(void);
void fixture_sleep_ms(int ms); /* while the loop runs */

/* Sends a request without waiting; returns its id. params is taken. role may be anonymous. */
int64_t fixture_send(const char *op, enum bh_role role, json_t *params);
/* The next frame for id from the broker within a second, or NULL. */
json_t *fixture_receive(int64_t id);
/* Nothing has come for id. */
void fixture_expect_silence(int64_t id);
/* Both, as operator; the reply. */
json_t *fixture_call(const char *op, json_t *params);
/* The same, which must have this status. Returns body (or problem), owned. */
json_t *fixture_expect(int status, const char *op, json_t *params);
void fixture_cancel(int64_t id);

/* Puts an agent of tenant default with these capabilities ('-quoted array). */
void fixture_agent(const char *name, const char *capabilities);
/* params of executions.create for this agent; extra members of the body may be NULL. */
json_t *fixture_request(const char *agent, const char *extra);
/* Creates one and waits until its order is out: the shim's number. */
size_t fixture_execute(const char *agent, const char *extra, char ret_id[BH_ID_SIZE]);

/* Next frame that any shim got, and which; NULL when none comes within a second. */
json_t *fixture_shim_frame(size_t *ret_shim);
/* Next frame with this type, skipping nothing: another one fails the test. */
json_t *fixture_expect_shim_frame(const char *type, size_t *ret_shim);
/* A start order, followed by go. */
json_t *fixture_expect_start(size_t *ret_shim);
void fixture_expect_no_shim_frame(void);
void fixture_shim_send(size_t shim, const char *frame);
void fixture_shim_state(size_t shim, const char *state);
/* A result with this outcome, and exit code 0 when it is "exited". */
void fixture_shim_result(size_t shim, const char *outcome);
void fixture_shim_close(size_t shim);

const char *text_at(const json_t *json, const char *member);

#define BROKER_TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
int fixture_setup(void **state); /* fixture_start with defaults */
int fixture_teardown(void **state);

#endif
