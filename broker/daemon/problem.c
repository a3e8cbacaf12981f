/* Errors as the API shows them. */
#include "broker/daemon/problem.h"

#include <string.h>

static const struct {
        const char *code;
        int status;
} codes[] = {
        {"invalid_request", 400},
        {"path_not_allowed", 400},
        {"unauthorized", 401},
        {"forbidden", 403},
        {"review_stale", 403},
        {"not_found", 404},
        {"agent_busy", 409},
        {"idempotency_key_reused", 409},
        {"workspace_busy", 409},
        {"workspace_differs", 409},
        {"precondition_failed", 412},
        {"capability_scope_mismatch", 422},
        {"image_missing", 422},
        {"mount_not_allowed", 422},
        {"secret_missing", 422},
        {"workspace_missing", 422},
        {"too_many_executions", 429},
        {"too_many_transfers", 429},
        {"internal_error", 500},
        {"store_failed", 500},
        {"draining", 503},
        {"limit_unenforceable", 503},
        {"tier_unavailable", 503},
        {"unavailable", 503},
};

int bh_problem_status(const char *code)
{
        for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
                if (strcmp(codes[i].code, code) == 0)
                        return codes[i].status;
        return 500;
}

static const char *code_of(const struct bh_error *error)
{
        switch (error->code) {
        case BH_ERROR_INVALID:
                return error->reason[0] ? error->reason : "invalid_request";
        case BH_ERROR_REFUSED:
        case BH_ERROR_CONFLICT:
                return error->reason[0] ? error->reason : "internal_error";
        case BH_ERROR_NOT_FOUND:
                return "not_found";
        case BH_ERROR_UNAVAILABLE:
                return "unavailable";
        default:
                return "internal_error";
        }
}

bool bh_error_is_fault(const struct bh_error *error)
{
        return bh_problem_status(code_of(error)) == 500;
}

json_t *bh_problem_new_take(const char *code, const char *detail, json_t *errors)
{
        return json_pack("{ssssso}", "code", code, "detail", detail, "errors",
                         errors ? errors : json_array());
}

json_t *bh_problem_from_error(const struct bh_error *error, int *ret_status)
{
        const char *code = code_of(error);
        int status = bh_problem_status(code);
        json_t *errors = NULL;
        *ret_status = status;
        /* What went wrong inside is for the log; it may name paths of this host. */
        if (status == 500)
                return bh_problem_new_take(code,
                                           strcmp(code, "store_failed") == 0
                                                   ? "the store cannot be written"
                                                   : "the broker failed; its log says how",
                                           NULL);
        if (error->code == BH_ERROR_INVALID || error->subject[0])
                errors = json_pack("[{ssss}]", "pointer", error->subject, "reason", error->message);
        return bh_problem_new_take(code, error->message, errors);
}
