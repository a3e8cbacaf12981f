/* Who asks: what a token stands for. */
#ifndef BULKHEAD_BROKER_DAEMON_PRINCIPAL_H
#define BULKHEAD_BROKER_DAEMON_PRINCIPAL_H

#include "broker/protocol.h"
#include "policy/name.h"

struct bh_principal {
        enum bh_role role;
        char name[BH_NAME_SIZE]; /* of the token */
        char tenant[BH_NAME_SIZE];
};

#endif
