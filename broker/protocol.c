/* The table of broker/protocol.h as data. */
#include "broker/protocol.h"

#include <string.h>

struct op {
        const char *name;
        int roles;
};

static const struct op ops[BH_OP_COUNT] = {
#define BH_OP_ROW(op, name, roles) [BH_OP_##op] = {name, roles},
        BH_OPS(BH_OP_ROW)
#undef BH_OP_ROW
};

static const struct {
        enum bh_role role;
        const char *name;
} roles[] = {
        {BH_ROLE_ORCHESTRATOR, "orchestrator"},
        {BH_ROLE_AUDITOR, "auditor"},
        {BH_ROLE_OPERATOR, "operator"},
};

const char *bh_op_name(enum bh_op op)
{
        return op < BH_OP_COUNT ? ops[op].name : "unknown";
}

enum bh_op bh_op_by_name(const char *name)
{
        for (size_t i = 0; i < BH_OP_COUNT; i++)
                if (strcmp(ops[i].name, name) == 0)
                        return (enum bh_op)i;
        return BH_OP_COUNT;
}

bool bh_op_allows(enum bh_op op, enum bh_role role)
{
        return op < BH_OP_COUNT && (ops[op].roles & (int)role) != 0;
}

enum bh_role bh_role_by_name(const char *name)
{
        for (size_t i = 0; i < sizeof(roles) / sizeof(roles[0]); i++)
                if (strcmp(roles[i].name, name) == 0)
                        return roles[i].role;
        return (enum bh_role)0;
}

const char *bh_role_name(enum bh_role role)
{
        for (size_t i = 0; i < sizeof(roles) / sizeof(roles[0]); i++)
                if (roles[i].role == role)
                        return roles[i].name;
        return "anonymous";
}
