/* See routes.h. */
#include "api/routes.h"

#include <stdio.h>
#include <string.h>

#include "api/executions.h"
#include "api/openapi.h"
#include "api/query.h"
#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/ulid.h"
#include "policy/name.h"

#define TENANT BH_PARAMETER_TENANT
#define PAGE   (BH_PARAMETER_LIST | BH_PARAMETER_TENANT)
#define CHANGE (BH_ROUTE_BODY | BH_ROUTE_IF_MATCH)

static const struct bh_route routes[] = {
        {"GET", "/healthz", BH_OP_HEALTH, 0, 0, bh_answer_document},
        {"GET", "/readyz", BH_OP_READY, 0, 0, bh_answer_document},
        {"GET", "/v1/host", BH_OP_HOST, 0, 0, bh_answer_document},
        {"GET", "/v1/policy", BH_OP_POLICY, 0, 0, bh_answer_document},
        {"GET", "/v1/audit", BH_OP_AUDIT_LIST, BH_PARAMETER_LIST, 0, bh_answer_document},

        {"GET", "/v1/agents", BH_OP_AGENT_LIST, PAGE, 0, bh_answer_document},
        {"GET", "/v1/agents/{agent}", BH_OP_AGENT_GET, TENANT, 0, bh_answer_document},
        {"PUT", "/v1/agents/{agent}", BH_OP_AGENT_PUT, TENANT, CHANGE, bh_answer_document},
        {"DELETE", "/v1/agents/{agent}", BH_OP_AGENT_DELETE, TENANT | BH_PARAMETER_FORCE,
         BH_ROUTE_IF_MATCH, bh_answer_document},
        {"PUT", "/v1/agents/{agent}/capabilities", BH_OP_CAPABILITIES_PUT, TENANT, CHANGE,
         bh_answer_document},
        {"GET", "/v1/agents/{agent}/reviews", BH_OP_REVIEW_LIST, PAGE, 0, bh_answer_document},
        {"POST", "/v1/agents/{agent}/reviews", BH_OP_REVIEW_CREATE, TENANT, BH_ROUTE_BODY,
         bh_answer_document},

        {"POST", "/v1/decisions", BH_OP_DECISION, TENANT, BH_ROUTE_EXECUTION, bh_answer_document},
        {"GET", "/v1/executions", BH_OP_EXECUTION_LIST,
         PAGE | BH_PARAMETER_AGENT | BH_PARAMETER_STATE | BH_PARAMETER_LABEL, 0,
         bh_answer_execution_list},
        {"POST", "/v1/executions", BH_OP_EXECUTION_CREATE, TENANT | BH_PARAMETER_WAIT,
         BH_ROUTE_EXECUTION | BH_ROUTE_IDEMPOTENT, bh_answer_execution},
        {"GET", "/v1/executions/{execution}", BH_OP_EXECUTION_GET, TENANT | BH_PARAMETER_WAIT, 0,
         bh_answer_execution},
        {"DELETE", "/v1/executions/{execution}", BH_OP_EXECUTION_DELETE, TENANT, 0,
         bh_answer_execution},
        {"GET", "/v1/executions/{execution}/stdout", BH_OP_EXECUTION_GET,
         TENANT | BH_PARAMETER_FOLLOW, BH_ROUTE_FOLLOW, bh_answer_stdout},
        {"GET", "/v1/executions/{execution}/stderr", BH_OP_EXECUTION_GET,
         TENANT | BH_PARAMETER_FOLLOW, BH_ROUTE_FOLLOW, bh_answer_stderr},
        {"GET", "/v1/executions/{execution}/events", BH_OP_EXECUTION_GET, TENANT, BH_ROUTE_WATCH,
         bh_answer_events},

        {"GET", "/v1/workspaces", BH_OP_WORKSPACE_LIST, PAGE, 0, bh_answer_document},
        {"GET", "/v1/workspaces/{workspace}", BH_OP_WORKSPACE_GET, TENANT, 0, bh_answer_document},
        {"PUT", "/v1/workspaces/{workspace}", BH_OP_WORKSPACE_PUT, TENANT, BH_ROUTE_BODY,
         bh_answer_document},
        {"DELETE", "/v1/workspaces/{workspace}", BH_OP_WORKSPACE_DELETE, TENANT, 0,
         bh_answer_document},

        {"GET", "/v1/workspaces/{workspace}/files/{path}", BH_OP_FILE_GET, TENANT, 0,
         bh_answer_transfer},
        {"PUT", "/v1/workspaces/{workspace}/files/{path}", BH_OP_FILE_PUT, TENANT, BH_ROUTE_UPLOAD,
         bh_answer_transfer},
        {"DELETE", "/v1/workspaces/{workspace}/files/{path}", BH_OP_FILE_DELETE, TENANT, 0,
         bh_answer_transfer},
        {"GET", "/v1/workspaces/{workspace}/tree", BH_OP_TREE_GET, PAGE | BH_PARAMETER_PATH, 0,
         bh_answer_transfer},
        {"GET", "/v1/workspaces/{workspace}/archive", BH_OP_ARCHIVE_GET, TENANT, 0,
         bh_answer_transfer},
        {"PUT", "/v1/workspaces/{workspace}/archive", BH_OP_ARCHIVE_PUT, TENANT, BH_ROUTE_UPLOAD,
         bh_answer_transfer},

        /* For whoever may see the host; nobody else is asked. */
        {"GET", "/v1/openapi.json", BH_OP_HOST, 0, BH_ROUTE_LOCAL, bh_answer_openapi},
};

const struct bh_route *bh_routes(size_t *ret_count)
{
        *ret_count = sizeof(routes) / sizeof(routes[0]);
        return routes;
}

/* Compares one segment of a pattern ("agents", "{agent}") that has length bytes. */
static bool segment_fits(const char *pattern, size_t length, const char *segment, bool *bad_name,
                         json_t *params)
{
        char name[32];

        if (pattern[0] != '{')
                return strlen(segment) == length && memcmp(segment, pattern, length) == 0;
        memcpy(name, pattern + 1, length - 2);
        name[length - 2] = '\0';
        if (strcmp(name, "execution") == 0 ? !bh_id_valid("ex_", segment) : !bh_name_valid(segment))
                *bad_name = true;
        else if (params)
                json_object_set_new(params, name, json_string(segment));
        return true;
}

/* The segments from first on, joined again, under the name "path". */
static void capture_tail(const struct bh_target *target, size_t first, json_t *params)
{
        size_t size = 1, used = 0;
        _cleanup_free_ char *path = NULL;

        for (size_t i = first; i < target->segment_count; i++)
                size += strlen(target->segments[i]) + 1;
        path = bh_alloc(size);
        for (size_t i = first; i < target->segment_count; i++)
                used += (size_t)snprintf(path + used, size - used, "%s%s", i > first ? "/" : "",
                                         target->segments[i]);
        json_object_set_new(params, "path", json_string(path));
}

static bool path_fits(const struct bh_route *route, const struct bh_target *target, bool *bad_name,
                      json_t *params)
{
        const char *at = route->path;

        for (size_t i = 0; i < target->segment_count; i++) {
                size_t length;

                if (*at != '/')
                        return false;
                length = strcspn(++at, "/");
                if (strcmp(at, "{path}") == 0) {
                        if (params)
                                capture_tail(target, i, params);
                        return true;
                }
                if (!segment_fits(at, length, target->segments[i], bad_name, params))
                        return false;
                at += length;
        }
        return *at == '\0' && target->segment_count > 0;
}

static void add_allowed(char allow[BH_ALLOW_SIZE], const char *method)
{
        size_t used = strlen(allow);

        (void)snprintf(allow + used, BH_ALLOW_SIZE - used, "%s%s", used > 0 ? ", " : "",
                       strcmp(method, "GET") == 0 ? "GET, HEAD" : method);
}

enum bh_route_verdict bh_route_find(const char *method, const struct bh_target *target,
                                    const struct bh_route **ret, json_t *params,
                                    char ret_allow[BH_ALLOW_SIZE])
{
        const char *wanted = strcmp(method, "HEAD") == 0 ? "GET" : method;

        ret_allow[0] = '\0';
        for (size_t i = 0; i < sizeof(routes) / sizeof(routes[0]); i++) {
                bool bad_name = false;

                if (!path_fits(&routes[i], target, &bad_name, NULL))
                        continue;
                if (bad_name)
                        return BH_ROUTE_BAD_NAME;
                if (strcmp(routes[i].method, wanted) != 0) {
                        add_allowed(ret_allow, routes[i].method);
                        continue;
                }
                (void)path_fits(&routes[i], target, &bad_name, params);
                *ret = &routes[i];
                return BH_ROUTE_FOUND;
        }
        return ret_allow[0] ? BH_ROUTE_NO_METHOD : BH_ROUTE_NO_PATH;
}
