/* Start orders for tests: a whole, valid one to change. */
#ifndef BULKHEAD_TESTS_BROKER_SHIM_ORDER_H
#define BULKHEAD_TESTS_BROKER_SHIM_ORDER_H

#include <jansson.h>

#define ORDER_ID "ex_01jdx0000000000000000000zz"

/* The `start` frame for argv (NULL-terminated) on the named driver, with every control that the
 * NULL-terminated list names. No payload, ephemeral workspace. */
json_t *order_new(const char *driver, const char *const argv[], const char *const controls[]);

/* Every control that policy asks for in such a plan, in place of those given. */
void order_set_all_controls(json_t *order);

/* Sets plan.limits.<name>. */
void order_set_limit(json_t *order, const char *name, json_int_t value);

#endif
