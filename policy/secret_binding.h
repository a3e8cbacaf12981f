/* An agent's secret entries: which secret goes to which hosts, and where in a request. */
#ifndef BULKHEAD_POLICY_SECRET_BINDING_H
#define BULKHEAD_POLICY_SECRET_BINDING_H

#include <stddef.h>
#include <stdint.h>

#include "base/json.h"
#include "policy/egress.h"

enum bh_secret_place { BH_SECRET_HEADER, BH_SECRET_BASIC, BH_SECRET_QUERY };

struct bh_secret_binding {
        char *name;
        char **hosts; /* patterns as in egress */
        size_t host_count;
        uint16_t *ports; /* empty: the ports of the covering rules */
        size_t port_count;
        char **methods;
        size_t method_count;
        char **paths;
        size_t path_count;
        enum bh_secret_place place;
        char *key;    /* header name, basic user, or query key */
        char *format; /* header only: exactly one "{}" */
};

struct bh_secret_bindings {
        struct bh_secret_binding *items;
        size_t count;
};

#define BH_SECRET_BINDINGS_MAX 64

/* Shapes only; that hosts are covered by egress rules is checked by bh_agent_spec_decode. */
int bh_secret_bindings_decode(const struct bh_json_at *at, struct bh_secret_bindings *ret,
                              struct bh_error *error);
json_t *bh_secret_bindings_encode(const struct bh_secret_bindings *bindings);
void bh_secret_bindings_copy(const struct bh_secret_bindings *bindings,
                             struct bh_secret_bindings *ret);
void bh_secret_bindings_clear(struct bh_secret_bindings *bindings);

#endif
