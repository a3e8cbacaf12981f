/* What the broker may say after `start`, decoded strictly. Used by control.c. */
#ifndef BULKHEAD_BROKER_SHIM_COMMAND_H
#define BULKHEAD_BROKER_SHIM_COMMAND_H

#include <stdbool.h>

#include "base/wire.h"
#include "broker/shim/outcome.h"

#define BH_COMMAND_DETAIL_SIZE 512

enum bh_command_type {
        BH_COMMAND_WATCH,
        BH_COMMAND_KILL,
        BH_COMMAND_ADOPT,
        BH_COMMAND_TAKEN,
        BH_COMMAND_GO,
};

struct bh_command {
        enum bh_command_type type;
        bool on;                             /* watch */
        enum bh_outcome outcome;             /* kill: BH_OUTCOME_KILLED or _RETIERED */
        char detail[BH_COMMAND_DETAIL_SIZE]; /* kill */
        int directory_fd, out_fd, err_fd;    /* go: the receiver's to close; else -1 */
};

/* BH_ERROR_PROTOCOL for an unknown type or member and for descriptors that do not belong. Takes the
 * descriptors of a `go`; the frame is still the caller's to clear. */
int bh_command_decode(struct bh_frame *frame, struct bh_command *ret, struct bh_error *error);

#endif
