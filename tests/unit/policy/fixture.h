/* One decision whose inputs are written as text. Used by the tests of the decision. */
#ifndef BULKHEAD_TESTS_POLICY_FIXTURE_H
#define BULKHEAD_TESTS_POLICY_FIXTURE_H

#include "support.h"

#include "policy/decide.h"

#define ALL_FEATURES ((UINT32_C(1) << BH_FEATURE_COUNT) - 1)
#define TRUE_REQUEST "{'agent': 'a', 'argv': ['true']}"

static inline struct bh_policy *policy_of(const char *text)
{
        _cleanup_json_ json_t *document = parse(text);
        struct bh_policy *policy = NULL;
        struct bh_error error = {0};

        if (bh_policy_decode(&BH_JSON_ROOT(document), &policy, &error) < 0)
                fail_msg("%s: %s", error.subject, error.message);
        return policy;
}

/* One decision, its inputs made of text. */
struct fixture {
        struct bh_policy *policy;
        struct bh_capabilities capabilities;
        struct bh_request *request;
        struct bh_host host;
        struct bh_decision decision;
};

static inline void host_tier_set(struct bh_tier_host *tier, const char *name, uint32_t features,
                                 uint32_t unenforceable)
{
        tier->available = true;
        tier->driver = bh_strdup(name);
        tier->technology = bh_format("%s technology", name);
        tier->version = bh_strdup("1.0");
        tier->features = features;
        tier->unenforceable_limits = unenforceable;
}

static inline void decide(struct fixture *fixture, const char *policy, const char *capabilities,
                          const char *request)
{
        _cleanup_json_ json_t *set = parse(capabilities), *body = parse(request);
        struct bh_error error = {0};

        fixture->policy = policy_of(policy);
        if (bh_capabilities_decode(&BH_JSON_ROOT(set), &fixture->capabilities, &error) < 0 ||
            bh_request_decode(&BH_JSON_ROOT(body), &fixture->policy->limits, 0, &fixture->request,
                              &error) < 0)
                fail_msg("%s: %s", error.subject, error.message);
        bh_decide(fixture->policy, &fixture->capabilities, 3, fixture->request, &fixture->host,
                  &fixture->decision);
}

static inline void fixture_clear(struct fixture *fixture)
{
        bh_decision_clear(&fixture->decision);
        bh_host_clear(&fixture->host);
        bh_request_free(fixture->request);
        bh_capabilities_clear(&fixture->capabilities);
        bh_policy_free(fixture->policy);
}

#endif
