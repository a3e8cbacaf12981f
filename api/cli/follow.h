/* Following one execution: its event stream, taken up again after a dropped connection, its
 * output written on as it comes, byte for byte and each byte once. Called by run and by
 * `executions logs -f`. */
#ifndef BULKHEAD_API_CLI_FOLLOW_H
#define BULKHEAD_API_CLI_FOLLOW_H

#include "api/cli/cli.h"

/* Until the execution ended. stdout_fd and stderr_fd get its streams; -1: not wanted. The final
 * execution lands in *ret. Errors beside the usual ones: reason "interrupted", and
 * BH_ERROR_SYSTEM with EPIPE when nobody reads the output any more. */
int bh_follow(struct bh_cli *cli, const char *execution, int stdout_fd, int stderr_fd, json_t **ret,
              struct bh_error *error);

/* Until the execution ended, without its output. */
int bh_follow_quietly(struct bh_cli *cli, const char *execution, json_t **ret,
                      struct bh_error *error);

#endif
