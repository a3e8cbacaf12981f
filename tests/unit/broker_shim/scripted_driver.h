/* A driver that does what a test says: its boundary is one forked process, which runs argv as a
 * script of steps. For tests of the shim only.
 *
 * argv: "out:TEXT" "err:TEXT" write; "flood:BYTES" writes that many to stdout; "cat" copies stdin
 * to stdout; "sleep:MS"; "exit:CODE"; "signal:NUMBER". */
#ifndef BULKHEAD_TESTS_BROKER_SHIM_SCRIPTED_DRIVER_H
#define BULKHEAD_TESTS_BROKER_SHIM_SCRIPTED_DRIVER_H

#include "drivers/driver.h"

struct scripted_driver {
        const char *failing;   /* slot that fails: "prepare", "observe", "start", "wait", … */
        bool hang_in_prepare;  /* waits for a process that never ends */
        bool end_in_prepare;   /* the process is killed before it could start */
        bool does_not_hold;    /* observe() says so of "scripted" */
        bool hide_evidence;    /* observe() shows nothing of "scripted" */
        bool is_deaf;          /* kill() does nothing */
        bool oom, lost;        /* reported with the end */
        int64_t cpu_us_per_ms; /* CPU time "used" while it runs */
};

extern struct scripted_driver scripted_driver;

/* For bh_shim_settings: knows "scripted". */
const struct bh_driver *scripted_driver_by_name(const char *name);

/* Its calls so far, one word each: "prepare observe start …". */
const char *scripted_driver_calls(void);

#endif
