/* What the host can give, as GET /v1/host shows it. */
#include "support.h"

#include "policy/host.h"

static void test_encode(void **state)
{
        struct bh_host host = {.cgroup = "hybrid"};

        (void)state;
        host.kernel = bh_strdup("6.18");
        host.kvm_reason = bh_strdup("a guest hangs");
        host.tier[BH_TIER_SUBPROCESS] = (struct bh_tier_host){
                .available = true,
                .driver = bh_strdup("subprocess"),
                .technology = bh_strdup("namespaces"),
                .version = bh_strdup("6.18"),
                .features = UINT32_C(1) << BH_FEATURE_NAMED_WORKSPACE,
                .unenforceable_limits = UINT32_C(1) << BH_LIMIT_DISK_BYTES,
        };
        bh_tier_host_add_missing(&host.tier[BH_TIER_VM], "libvirtd does not answer", "start it");
        bh_tier_host_add_missing(&host.tier[BH_TIER_VM], "no image", "");
        _cleanup_json_ json_t *encoded = bh_host_encode(&host);
        assert_json(encoded,
                    "{'kernel': '6.18', 'cgroup': 'hybrid', 'kvm': {'usable': false, 'reason':"
                    " 'a guest hangs'}, 'tiers': {'subprocess': {'available': true, 'driver':"
                    " 'subprocess', 'technology': 'namespaces', 'version': '6.18', 'missing': [],"
                    " 'features': ['named_workspace'], 'unenforceable_limits': ['disk_bytes']},"
                    " 'container': {'available': false, 'driver': null, 'technology': null,"
                    " 'version': null, 'missing': [], 'features': [], 'unenforceable_limits': []},"
                    " 'userkernel': {'available': false, 'driver': null, 'technology': null,"
                    " 'version': null, 'missing': [], 'features': [], 'unenforceable_limits': []},"
                    " 'vm': {'available': false, 'driver': null, 'technology': null, 'version':"
                    " null, 'missing': [{'what': 'libvirtd does not answer', 'fix': 'start it'},"
                    " {'what': 'no image', 'fix': ''}], 'features': [], 'unenforceable_limits':"
                    " []}}}");
        bh_host_clear(&host);
        assert_null(host.kernel);
        assert_int_equal(host.tier[BH_TIER_VM].missing_count, 0);
        bh_host_clear(&host);
}

int main(void)
{
        const struct CMUnitTest tests[] = {cmocka_unit_test(test_encode)};

        return cmocka_run_group_tests(tests, NULL, NULL);
}
