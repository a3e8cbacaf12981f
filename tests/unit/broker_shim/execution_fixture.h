/* A whole shim in a process of its own, on the scripted driver, with short times. */
#ifndef BULKHEAD_TESTS_BROKER_SHIM_EXECUTION_FIXTURE_H
#define BULKHEAD_TESTS_BROKER_SHIM_EXECUTION_FIXTURE_H

#include "broker/shim/settings.h"
#include "broker_double.h"

#define RUN(...) ((const char *const[]){__VA_ARGS__, NULL})

struct fixture {
        struct bh_shim_settings settings; /* to change before begin_take() */
        struct broker_double broker;
        char buffer[4096];
};

int set_up(void **state);
int tear_down(void **state);

/* Starts the shim and gives it the order. */
void begin_take(struct fixture *fixture, json_t *order);

/* The same in two steps. */
void open_shim(struct fixture *fixture);
json_t *order_for(const char *const argv[]);

/* Takes the result and lets the shim go, which leaves no file but the output. */
json_t *result_of(struct fixture *fixture);

/* The same; detail must be part of the result's. */
void assert_outcome(struct fixture *fixture, const char *outcome, const char *detail);
void assert_output(struct fixture *fixture, const char *name, const char *expected);

const char *text_of(const json_t *object, const char *key);
json_int_t number_in(const json_t *object, const char *key, const char *inner);

#endif
