/* Decisions of policy on this host now. */
#include "broker/daemon/decision.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "broker/daemon/admission.h"
#include "broker/daemon/daemon.h"
#include "broker/daemon/dispatch.h"

static void decide(struct bh_daemon *daemon, const struct bh_agent *agent,
                   const struct bh_request *request, struct bh_decision *ret)
{
        bh_decide(daemon->policy, &agent->capabilities, agent->row->generation, request,
                  &daemon->host, ret);
}

void bh_decision_make(struct bh_daemon *daemon, const struct bh_agent *agent,
                      const struct bh_request *request, struct bh_decision *ret)
{
        /* A control failed since the last look: what was found then may no longer hold. */
        if (daemon->probe_again)
                bh_daemon_probe_again(daemon);
        decide(daemon, agent, request, ret);
        if (ret->available || !bh_daemon_probe_again(daemon))
                return;
        bh_decision_clear(ret);
        decide(daemon, agent, request, ret);
}

int bh_decision_refuse(const struct bh_decision *decision, struct bh_error *error)
{
        char text[640] = "";
        size_t used = 0, index = 0;
        json_t *problem = NULL;
        json_array_foreach (decision->problems, index, problem) {
                int r = snprintf(text + used, sizeof(text) - used, "%s%s", used ? "; " : "",
                                 json_string_value(problem));
                used += (size_t)r;
                if (used >= sizeof(text))
                        break;
        }
        return bh_error_refused(
                error, decision->limit_unenforceable ? "limit_unenforceable" : "tier_unavailable",
                "", "no tier from %s up can run this: %s", bh_tier_name(decision->required), text);
}

/* 0 without one. */
static int payload_size(const struct bh_call *call, uint64_t *ret, struct bh_error *error)
{
        struct stat st = {0};
        if (call->payload_fd < 0) {
                *ret = 0;
                return 0;
        }
        if (bh_memfd_check_sealed(call->payload_fd, error) < 0)
                return bh_error_prefix(error, "payload");
        if (fstat(call->payload_fd, &st) < 0)
                return bh_error_errno(error, errno, "payload");
        if ((size_t)st.st_size > BH_PAYLOAD_MAX)
                return bh_error_invalid(error, "", "files and stdin are over %zu bytes",
                                        BH_PAYLOAD_MAX);
        *ret = (uint64_t)st.st_size;
        return 0;
}

int bh_request_of_call(struct bh_call *call, const struct bh_json_at *body, struct bh_request **ret,
                       struct bh_error *error)
{
        uint64_t size = 0;
        if (payload_size(call, &size, error) < 0)
                return -1;
        return bh_request_decode(body, &call->daemon->policy->limits, size, ret, error);
}

int bh_handle_decision(struct bh_call *call, struct bh_error *error)
{
        static const char *const members[] = {"body", "body_digest", "tenant", NULL};
        struct bh_json_at params = BH_JSON_ROOT(call->params), member;
        _cleanup_(bh_request_cleanup) struct bh_request *request = NULL;
        _cleanup_(bh_agent_clear) struct bh_agent agent = {0};
        struct bh_decision decision = {0};
        struct bh_error problem = {0};
        const char *tenant = NULL;
        if (bh_json_object(&params, members, error) < 0 ||
            bh_call_tenant(call, false, &tenant, error) < 0 ||
            bh_json_require(&params, "body", &member, error) < 0)
                return -1;
        struct bh_json_at body = BH_JSON_ROOT(member.value);
        if (bh_request_of_call(call, &body, &request, error) < 0 ||
            bh_agent_load(call->daemon, tenant, request->agent, &agent, error) < 0)
                return -1;
        bh_decision_make(call->daemon, &agent, request, &decision);
        if (decision.available &&
            bh_admission_check(call->daemon, tenant, &agent, request, &decision, &problem) < 0) {
                decision.available = false;
                json_array_append_new(decision.problems, json_string(problem.message));
        }
        bh_call_reply_take(call, 200, bh_decision_encode(&decision));
        bh_decision_clear(&decision);
        return 0;
}
