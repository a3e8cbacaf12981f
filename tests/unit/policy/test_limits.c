/* Limits of requests and of the policy file, odd numbers first (D19). */
#include "support.h"

#include "policy/limits.h"

static struct bh_limit_policy policy_of(int64_t standard, int64_t max)
{
        struct bh_limit_policy policy;

        for (int i = 0; i < BH_LIMIT_COUNT; i++) {
                policy.standard.value[i] = standard;
                policy.max.value[i] = max;
        }
        return policy;
}

static const struct refusal refusals[] = {
        {"null", "", ""},
        {"[]", "", ""},
        {"{'timeout_ms': 5}", "/timeout_ms", ""},
        {"{'wall_ms': 0}", "/wall_ms", ""},
        {"{'wall_ms': -1}", "/wall_ms", ""},
        {"{'wall_ms': 0.0004}", "/wall_ms", ""},
        {"{'wall_ms': 1.0}", "/wall_ms", ""},
        {"{'wall_ms': 1e308}", "/wall_ms", ""},
        {"{'wall_ms': 2147483648}", "/wall_ms", ""},
        {"{'wall_ms': 9223372036854775807}", "/wall_ms", ""},
        {"{'wall_ms': '5'}", "/wall_ms", ""},
        {"{'wall_ms': true}", "/wall_ms", ""},
        {"{'wall_ms': null}", "/wall_ms", ""},
        {"{'wall_ms': 1001}", "/wall_ms", ""},
        {"{'wall_ms': 1000, 'pids': 0}", "/pids", ""},
        {"{'cpu_ms': 0}", "/cpu_ms", ""},
        {"{'memory_bytes': 0}", "/memory_bytes", ""},
        {"{'disk_bytes': 0}", "/disk_bytes", ""},
        {"{'output_bytes': 0}", "/output_bytes", ""},
};

static void test_requests(void **state)
{
        struct bh_limit_policy policy = policy_of(100, 1000);
        struct bh_limits limits;

        (void)state;
        for (size_t i = 0; i < COUNT(refusals); i++) {
                _cleanup_json_ json_t *document = parse(refusals[i].document);
                struct bh_error error = {0};

                assert_refused(&refusals[i],
                               bh_limits_decode(&BH_JSON_ROOT(document), &policy, &limits, &error),
                               &error);
        }
        assert_int_equal(bh_limits_decode(NULL, &policy, &limits, NULL), 0);
        for (int i = 0; i < BH_LIMIT_COUNT; i++)
                assert_int_equal(limits.value[i], 100);

        _cleanup_json_ json_t *document = parse("{'wall_ms': 1000, 'pids': 1}");
        assert_int_equal(bh_limits_decode(&BH_JSON_ROOT(document), &policy, &limits, NULL), 0);
        _cleanup_json_ json_t *encoded = bh_limits_encode(&limits);
        assert_json(encoded, "{'wall_ms': 1000, 'cpu_ms': 100, 'memory_bytes': 100, 'pids': 1,"
                             " 'disk_bytes': 100, 'output_bytes': 100}");
}

static const struct refusal policy_refusals[] = {
        {"[]", "", ""},
        {"{'wall': {}}", "/wall", ""},
        {"{'wall_ms': 5}", "/wall_ms", ""},
        {"{'wall_ms': {'maximum': 5}}", "/wall_ms/maximum", ""},
        {"{'wall_ms': {'default': 0}}", "/wall_ms/default", ""},
        {"{'wall_ms': {'max': 9223372036854775807}}", "/wall_ms/max", ""},
        {"{'pids': {'max': 4194305}}", "/pids/max", ""},
        {"{'wall_ms': {'default': 6, 'max': 5}}", "/wall_ms", ""},
        {"{'wall_ms': {'default': 1001}}", "/wall_ms", ""},
        {"{'wall_ms': {'max': 99}}", "/wall_ms", ""},
};

static void test_policy_file(void **state)
{
        struct bh_limit_policy policy = policy_of(100, 1000);

        (void)state;
        for (size_t i = 0; i < COUNT(policy_refusals); i++) {
                _cleanup_json_ json_t *document = parse(policy_refusals[i].document);
                struct bh_error error = {0};

                assert_refused(&policy_refusals[i],
                               bh_limit_policy_decode(&BH_JSON_ROOT(document), &policy, &error),
                               &error);
                assert_int_equal(policy.standard.value[BH_LIMIT_WALL_MS], 100);
                assert_int_equal(policy.max.value[BH_LIMIT_WALL_MS], 1000);
        }
        _cleanup_json_ json_t *document = parse("{'wall_ms': {'default': 5, 'max': 5}, 'pids':"
                                                " {'max': 100}}");
        assert_int_equal(bh_limit_policy_decode(&BH_JSON_ROOT(document), &policy, NULL), 0);
        _cleanup_json_ json_t *encoded = bh_limit_policy_encode(&policy);
        assert_json(encoded,
                    "{'wall_ms': {'default': 5, 'max': 5}, 'cpu_ms': {'default': 100, 'max': 1000},"
                    " 'memory_bytes': {'default': 100, 'max': 1000}, 'pids': {'default': 100,"
                    " 'max': 100}, 'disk_bytes': {'default': 100, 'max': 1000}, 'output_bytes':"
                    " {'default': 100, 'max': 1000}}");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_requests),
                cmocka_unit_test(test_policy_file),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
