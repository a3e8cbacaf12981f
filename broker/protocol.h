/* What bulkhead-api may ask of bulkheadd: the one table of operations and who may call each.
 * docs/architecture.md shows the frames. Both sides check the table; the broker's check is the
 * one that counts. The only header of broker/ that api/ includes. */
#ifndef BULKHEAD_BROKER_PROTOCOL_H
#define BULKHEAD_BROKER_PROTOCOL_H

#include <stdbool.h>
#include <stddef.h>

enum bh_role {
        BH_ROLE_ANONYMOUS = 1 << 0,
        BH_ROLE_ORCHESTRATOR = 1 << 1,
        BH_ROLE_AUDITOR = 1 << 2,
        BH_ROLE_OPERATOR = 1 << 3,
};

#define BH_ROLES_ALL    (BH_ROLE_ANONYMOUS | BH_ROLES_ANY)
#define BH_ROLES_ANY    (BH_ROLE_ORCHESTRATOR | BH_ROLE_AUDITOR | BH_ROLE_OPERATOR)
#define BH_ROLES_CHANGE (BH_ROLE_ORCHESTRATOR | BH_ROLE_OPERATOR)
#define BH_ROLES_REVIEW (BH_ROLE_AUDITOR | BH_ROLE_OPERATOR)

/* op, name on the wire, roles. params in the comments; "?" marks the optional ones. Every op
 * of an operator may carry "tenant"? (default "default"; lists: all tenants); an orchestrator's
 * tenant is its token's. */
#define BH_OPS(X)                                                                                  \
        X(HEALTH, "health", BH_ROLES_ALL) /* {} → {"status": "ok"} */                            \
        X(READY, "ready", BH_ROLES_ALL)   /* {} → 200/503 {"ready", "reasons"} */                \
        X(HOST, "host.get", BH_ROLES_ANY)                                                          \
        X(POLICY, "policy.get", BH_ROLES_ANY)                                                      \
        X(AUDIT_LIST, "audit.list", BH_ROLES_REVIEW)      /* limit?, cursor? */                    \
        X(AGENT_PUT, "agents.put", BH_ROLES_CHANGE)       /* agent, body, if_match? */             \
        X(AGENT_GET, "agents.get", BH_ROLES_ANY)          /* agent */                              \
        X(AGENT_LIST, "agents.list", BH_ROLES_ANY)        /* limit?, cursor? */                    \
        X(AGENT_DELETE, "agents.delete", BH_ROLES_CHANGE) /* agent, force?, if_match? */           \
        X(CAPABILITIES_PUT, "agents.capabilities.put",                                             \
          BH_ROLES_CHANGE)                                  /* agent, body, if_match? */           \
        X(REVIEW_CREATE, "reviews.create", BH_ROLES_CHANGE) /* agent, body */                      \
        X(REVIEW_LIST, "reviews.list", BH_ROLES_ANY)        /* agent, limit?, cursor? */           \
        X(DECISION, "decisions.create", BH_ROLES_ANY)       /* body (wire form) */                 \
        /* body (wire form, see policy/request.h), body_digest (of the body as the client sent     \
         * it, canonical), wait_ms?, idempotency_key?; descriptor 0: payload memfd, if any.        \
         * Reply: the execution; descriptors stdout, stderr. */                                    \
        X(EXECUTION_CREATE, "executions.create", BH_ROLES_CHANGE)                                  \
        X(EXECUTION_GET, "executions.get", BH_ROLES_ANY) /* execution, wait_ms? */                 \
        X(EXECUTION_LIST, "executions.list",                                                       \
          BH_ROLES_ANY) /* agent?, state?, labels?, limit?, cursor? */                             \
        X(EXECUTION_DELETE, "executions.delete", BH_ROLES_CHANGE) /* execution */                  \
        /* execution → reply with the execution and descriptors stdout, stderr, then events      \
         * {"id", "event": "state", "sequence": n, "state", "at"}, {"id", "event": "output",       \
         * "stdout": bytes, "stderr": bytes} (kept bytes so far; sent when it grew), and last      \
         * {"id", "event": "ended", "sequence": n, "execution": {…}}. Past states come first. */ \
        X(EXECUTION_WATCH, "executions.watch", BH_ROLES_ANY)                                       \
        X(WORKSPACE_PUT, "workspaces.put", BH_ROLES_CHANGE)       /* workspace, body */            \
        X(WORKSPACE_GET, "workspaces.get", BH_ROLES_ANY)          /* workspace */                  \
        X(WORKSPACE_LIST, "workspaces.list", BH_ROLES_ANY)        /* limit?, cursor? */            \
        X(WORKSPACE_DELETE, "workspaces.delete", BH_ROLES_CHANGE) /* workspace */                  \
        /* Each: reply {} with one descriptor, a transfer; see below. */                           \
        X(FILE_GET, "files.get", BH_ROLES_ANY)          /* workspace, path */                      \
        X(FILE_PUT, "files.put", BH_ROLES_CHANGE)       /* workspace, path */                      \
        X(FILE_DELETE, "files.delete", BH_ROLES_CHANGE) /* workspace, path */                      \
        X(TREE_GET, "tree.get", BH_ROLES_ANY)           /* workspace, path?, limit?, cursor? */    \
        X(ARCHIVE_GET, "archive.get", BH_ROLES_ANY)     /* workspace */                            \
        X(ARCHIVE_PUT, "archive.put", BH_ROLES_CHANGE)  /* workspace */

enum bh_op {
#define BH_OP_ENUM(op, name, roles) BH_OP_##op,
        BH_OPS(BH_OP_ENUM)
#undef BH_OP_ENUM
                BH_OP_COUNT,
};

const char *bh_op_name(enum bh_op op);
/* BH_OP_COUNT when unknown. */
enum bh_op bh_op_by_name(const char *name);
bool bh_op_allows(enum bh_op op, enum bh_role role);

/* Wire names of roles: "orchestrator", "auditor", "operator". 0 when unknown. */
enum bh_role bh_role_by_name(const char *name);
const char *bh_role_name(enum bh_role role);

/* Descriptor numbers in the child, fixed at spawn. */
#define BH_API_CHANNEL_FD     3

/* {"event": "listen", "kind": "unix"|"tcp", "address": "…", "tls": bool} with the listening socket
 * and, when tls, memfds with certificate chain, key, and client CA (may be empty);
 * {"event": "principals", "tokens": [{"sha256", "role", "tenant", "name"}]} replaces the set;
 * {"event": "serve"} after the last listener → API answers {"event": "ready"};
 * {"event": "drain"}: stop accepting, finish what is under way, exit 0. */

/* Transfers: bulkhead-api and a helper that bulkheadd started for this one request, over a
 * SOCK_SEQPACKET socket. A message is one byte of kind and its payload. The API sends the client's
 * body as DATA and then END; an end of the socket without END means that the client gave up. The
 * helper sends one HEAD, at any time: {"status", "body"} with or without a descriptor that holds
 * the answer's bytes, {"status", "problem": {"code", "detail"}}, or {"status", "content_type"},
 * after which the answer's bytes follow as DATA and END; without END they are not whole. */
#define BH_TRANSFER_HEAD      'H'
#define BH_TRANSFER_DATA      'D'
#define BH_TRANSFER_END       'E'
#define BH_TRANSFER_PIECE_MAX ((size_t)32 << 10) /* bytes of payload */

#endif
