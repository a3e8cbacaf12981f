/* Errors as the API shows them. One table has every code with its status; docs/errors.md is the
 * same table for people. */
#ifndef BULKHEAD_BROKER_DAEMON_PROBLEM_H
#define BULKHEAD_BROKER_DAEMON_PROBLEM_H

#include <stdbool.h>

#include "base/json.h"

/* 500 when the code is not in the table. */
int bh_problem_status(const char *code);

/* {"code", "detail", "errors": [{"pointer", "reason"}]} and the status of error. */
json_t *bh_problem_from_error(const struct bh_error *error, int *ret_status);

/* The same from parts; errors is taken and may be NULL. */
json_t *bh_problem_new_take(const char *code, const char *detail, json_t *errors);

/* Whether an error is the broker's own failure (and so to be logged), not the caller's. */
bool bh_error_is_fault(const struct bh_error *error);

#endif
