/* The record of one execution: what the store keeps and the API shows. Lives as long as
 * someone works on it; executions.h has those that are under way. */
#ifndef BULKHEAD_BROKER_DAEMON_EXECUTION_H
#define BULKHEAD_BROKER_DAEMON_EXECUTION_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/ulid.h"
#include "policy/tier.h"

enum bh_execution_state {
        BH_EXECUTION_QUEUED,
        BH_EXECUTION_PROVISIONING,
        BH_EXECUTION_RUNNING,
        BH_EXECUTION_ENDED,
};

const char *bh_execution_state_name(enum bh_execution_state state);
/* -1 when no state has that name. */
int bh_execution_state_by_name(const char *name);

/* Outcomes of shim_protocol.h, as the API shows them. */
bool bh_outcome_valid(const char *outcome);

struct bh_stream_count {
        int64_t bytes;   /* all that the workload wrote */
        int64_t dropped; /* of these not kept */
};

struct bh_execution {
        char id[BH_ID_SIZE];
        char *tenant, *agent;
        enum bh_execution_state state;
        int64_t generation; /* of the agent's capability set */
        enum bh_tier required, effective;
        char *driver, *technology;
        char policy_digest[BH_DIGEST_TEXT_SIZE], plan_digest[BH_DIGEST_TEXT_SIZE];
        char *workspace; /* NULL: ephemeral */
        bool workspace_writable;
        json_t *labels;
        int64_t slot;   /* uid pair; -1: none */
        pid_t shim_pid; /* 0: none yet */
        uint64_t shim_start_time;
        int64_t created_ms, provisioning_ms, started_ms, ended_ms; /* epoch; 0: not yet */
        /* filled when it ended */
        char *outcome;
        bool has_exit_code;
        int64_t exit_code;
        char *signal;
        char *detail;
        struct bh_stream_count out, err;
        json_t *usage, *timing, *evidence; /* objects or NULL */
};

void bh_execution_free(struct bh_execution *execution);
BH_DEFINE_CLEANUP(struct bh_execution *, bh_execution, bh_execution_free);

/* As api/openapi.json has it, without the bytes of stdout and stderr. */
json_t *bh_execution_encode(const struct bh_execution *execution);

/* The shim's "result" frame over *execution, which becomes ended. */
int bh_execution_apply_result(struct bh_execution *execution, const json_t *result,
                              struct bh_error *error);

/* An end that no shim reported. */
void bh_execution_end(struct bh_execution *execution, const char *outcome, const char *detail);

/* Whether labels holds every member of wanted, with equal values. */
bool bh_labels_match(const json_t *labels, const json_t *wanted);

#endif
