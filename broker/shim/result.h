/* The `result` frame, which is also result.json. Pure but for bh_result_store. */
#ifndef BULKHEAD_BROKER_SHIM_RESULT_H
#define BULKHEAD_BROKER_SHIM_RESULT_H

#include "broker/shim/capture.h"
#include "broker/shim/outcome.h"

struct bh_result {
        struct bh_verdict verdict;
        struct bh_usage usage;
        int64_t provision_us, run_us, teardown_us;
        int64_t started_ms; /* since the epoch; 0: it never ran */
        int64_t ended_ms;
        const struct bh_capture *out, *err;
        json_t *evidence; /* borrowed, or NULL */
};

/* Puts into the verdict that a stream's bytes could not be written. */
void bh_result_note_losses(struct bh_result *result);

/* A new object whose text is at most BH_SHIM_RESULT_MAX bytes: evidence that does not fit is left
 * out and said to be. */
json_t *bh_result_encode(const struct bh_result *result);

/* Writes it to result.json in the execution's directory, durably and as a whole. */
int bh_result_store(int directory, const json_t *result, struct bh_error *error);

#endif
