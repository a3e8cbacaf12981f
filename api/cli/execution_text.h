/* Executions for people: how one ended, in words and as an exit status. Called by run and by
 * the executions commands. */
#ifndef BULKHEAD_API_CLI_EXECUTION_TEXT_H
#define BULKHEAD_API_CLI_EXECUTION_TEXT_H

#include "api/cli/cli.h"

/* "exited 0", "signaled SIGSEGV", "timeout", or the state. Caller frees. */
char *bh_execution_outcome(const json_t *execution);

/* "SIGKILL" → 9; 0 when unknown. */
int bh_signal_number(const char *name);

/* The exit status of `run` for an ended execution; says on stderr what the status alone cannot:
 * a limit, a failed boundary, output that was cut. */
int bh_execution_exit(struct bh_cli *cli, const json_t *execution);

#endif
