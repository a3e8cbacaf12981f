/* Why an execution ended, in the API's words. The first cause wins: what the shim did itself
 * (a limit's kill, a kill by request, a boundary that failed) is claimed when it happens and
 * beats whatever the dying processes report. Pure. */
#ifndef BULKHEAD_BROKER_SHIM_OUTCOME_H
#define BULKHEAD_BROKER_SHIM_OUTCOME_H

#include <stdbool.h>

#include "drivers/driver.h"

enum bh_outcome {
        BH_OUTCOME_NONE, /* nothing claimed */
        BH_OUTCOME_EXITED,
        BH_OUTCOME_SIGNALED,
        BH_OUTCOME_TIMEOUT,
        BH_OUTCOME_CPU_LIMIT,
        BH_OUTCOME_OOM,
        BH_OUTCOME_KILLED,
        BH_OUTCOME_RETIERED,
        BH_OUTCOME_LOST,
        BH_OUTCOME_BOUNDARY_FAILED,
};

#define BH_OUTCOME_DETAIL_SIZE 1024

struct bh_verdict {
        enum bh_outcome outcome;
        char detail[BH_OUTCOME_DETAIL_SIZE]; /* for people; "" when nothing needs saying */
        int exit_code;                       /* exited */
        int signal;                          /* signaled */
};

const char *bh_outcome_name(enum bh_outcome outcome);

/* Records a cause unless there is one already; true when it was recorded. */
bool bh_verdict_claim(struct bh_verdict *verdict, enum bh_outcome outcome, const char *format, ...)
        __attribute__((format(printf, 3, 4)));

/* BH_OUTCOME_BOUNDARY_FAILED with the control's name and the error's message. */
bool bh_verdict_claim_failure(struct bh_verdict *verdict, const struct bh_error *error);

/* Fills what is still open from the driver's report (NULL: it never came) and the final usage. */
void bh_verdict_settle(struct bh_verdict *verdict, const struct bh_end *end,
                       const struct bh_usage *usage, const struct bh_limits *limits);

/* Adds a sentence to the detail. */
void bh_verdict_note(struct bh_verdict *verdict, const char *format, ...)
        __attribute__((format(printf, 2, 3)));

#define BH_SIGNAL_NAME_SIZE 24

/* "SIGSEGV", "SIGRTMIN+2", else "SIG<number>". */
void bh_signal_name(int signal, char ret[BH_SIGNAL_NAME_SIZE]);

#endif
