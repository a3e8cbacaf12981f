/* The decision: which tier is chosen or what the host lacks, and the numbers and lists of the
 * plan. Whole decisions are compared in test_golden.c. */
#include "fixture.h"

#include "policy/strings.h"

static bool has_problem(const struct fixture *fixture, const char *words)
{
        size_t index;
        json_t *problem;

        json_array_foreach (fixture->decision.problems, index, problem)
                if (strstr(json_string_value(problem), words))
                        return true;
        return false;
}

static bool has_control(const struct bh_plan *plan, const char *control)
{
        return bh_strings_contain(plan->controls, plan->control_count, control);
}

static void test_lowest_available(void **state)
{
        struct fixture fixture = {0};

        (void)state;
        host_tier_set(&fixture.host.tier[BH_TIER_SUBPROCESS], "subprocess", 0, 0);
        host_tier_set(&fixture.host.tier[BH_TIER_VM], "vm", ALL_FEATURES, 0);
        decide(&fixture, "{}", "{'capabilities': ['code.execute']}", TRUE_REQUEST);
        assert_true(fixture.decision.available);
        assert_int_equal(fixture.decision.required, BH_TIER_CONTAINER);
        assert_int_equal(fixture.decision.tier, BH_TIER_VM);
        assert_int_equal(fixture.decision.plan->required_tier, BH_TIER_CONTAINER);
        assert_int_equal(fixture.decision.plan->tier, BH_TIER_VM);
        assert_int_equal(json_array_size(fixture.decision.problems), 0);
        fixture_clear(&fixture);
}

/* F04: what is wanted and missing is a refusal that says what to do, never a weaker tier. */
static void test_unavailable(void **state)
{
        struct fixture fixture = {0};

        (void)state;
        host_tier_set(&fixture.host.tier[BH_TIER_SUBPROCESS], "subprocess", ALL_FEATURES, 0);
        bh_tier_host_add_missing(&fixture.host.tier[BH_TIER_CONTAINER], "runc is not installed",
                                 "apt-get install runc");
        decide(&fixture, "{}", "{'capabilities': ['code.execute']}", TRUE_REQUEST);
        assert_false(fixture.decision.available);
        assert_false(fixture.decision.limit_unenforceable);
        assert_null(fixture.decision.plan);
        assert_int_equal(fixture.decision.tier, BH_TIER_CONTAINER);
        assert_true(has_problem(&fixture, "tier container: runc is not installed; apt-get install"
                                          " runc"));
        assert_true(has_problem(&fixture, "tier vm: this host has no driver for it"));
        assert_false(has_problem(&fixture, "tier subprocess"));
        _cleanup_json_ json_t *encoded = bh_decision_encode(&fixture.decision);
        assert_true(json_is_null(json_object_get(encoded, "plan")));
        assert_true(json_is_null(json_object_get(encoded, "driver")));
        assert_true(json_is_false(json_object_get(encoded, "available")));
        fixture_clear(&fixture);
}

static void test_min_tier(void **state)
{
        static const struct {
                const char *request;
                enum bh_tier required;
        } cases[] = {
                {"{'agent': 'a', 'argv': ['true'], 'min_tier': 'vm'}", BH_TIER_VM},
                {"{'agent': 'a', 'argv': ['true'], 'min_tier': 'container'}", BH_TIER_CONTAINER},
                {"{'agent': 'a', 'argv': ['true'], 'min_tier': 'subprocess'}", BH_TIER_CONTAINER},
                {TRUE_REQUEST, BH_TIER_CONTAINER},
        };

        (void)state;
        for (size_t i = 0; i < COUNT(cases); i++) {
                struct fixture fixture = {0};

                for (int tier = 0; tier < BH_TIER_COUNT; tier++)
                        host_tier_set(&fixture.host.tier[tier], bh_tier_name((enum bh_tier)tier),
                                      ALL_FEATURES, 0);
                decide(&fixture, "{}", "{'capabilities': ['code.execute']}", cases[i].request);
                assert_int_equal(fixture.decision.required, cases[i].required);
                assert_int_equal(fixture.decision.tier, cases[i].required);
                bool named = strcmp(json_string_value(json_object_get(
                                            json_array_get(fixture.decision.reasons, 0), "rule")),
                                    "min_tier") == 0;
                assert_int_equal(named, cases[i].required == BH_TIER_VM);
                fixture_clear(&fixture);
        }
}

static void test_features(void **state)
{
        static const struct {
                enum bh_feature feature;
                const char *capabilities, *request;
        } cases[] = {
                {BH_FEATURE_EGRESS,
                 "{'capabilities': ['net.egress'], 'egress': [{'host': 'a.test', 'ports': [1]}]}",
                 TRUE_REQUEST},
                {BH_FEATURE_MOUNTS,
                 "{'capabilities': ['fs.mount.read'], 'mounts': [{'source': '/srv/a', 'target':"
                 " '/data', 'mode': 'ro'}]}",
                 TRUE_REQUEST},
                {BH_FEATURE_ROOT_INSIDE, "{'capabilities': ['root.inside']}", TRUE_REQUEST},
                {BH_FEATURE_NAMED_WORKSPACE, "{'capabilities': []}",
                 "{'agent': 'a', 'argv': ['true'], 'workspace': 'w'}"},
        };

        (void)state;
        for (size_t i = 0; i < COUNT(cases); i++)
                for (int lacking = 0; lacking < 2; lacking++) {
                        struct fixture fixture = {0};
                        uint32_t bit = UINT32_C(1) << cases[i].feature;

                        host_tier_set(&fixture.host.tier[BH_TIER_VM], "vm",
                                      lacking ? ALL_FEATURES & ~bit : bit, 0);
                        decide(&fixture, "{'mounts': {'allowed_roots': ['/srv']}}",
                               cases[i].capabilities, cases[i].request);
                        if (fixture.decision.available == (bool)lacking)
                                fail_msg("%s", bh_feature_name(cases[i].feature));
                        assert_int_equal(has_problem(&fixture, "driver vm cannot"), lacking);
                        fixture_clear(&fixture);
                }
}

/* A capability without a scope grants nothing and needs no feature: egress stays deny-all. */
static void test_capability_without_scope(void **state)
{
        struct fixture fixture = {0};

        (void)state;
        host_tier_set(&fixture.host.tier[BH_TIER_VM], "vm", 0, 0);
        decide(&fixture, "{}",
               "{'capabilities': ['net.egress', 'secrets.use', 'fs.mount.read'], 'egress': [],"
               " 'mounts': [], 'secrets': []}",
               TRUE_REQUEST);
        assert_true(fixture.decision.available);
        assert_int_equal(fixture.decision.required, BH_TIER_VM);
        assert_int_equal(fixture.decision.plan->egress.count, 0);
        assert_true(has_control(fixture.decision.plan, "gateway.deny_all"));
        assert_false(has_control(fixture.decision.plan, "gateway.allow_list"));
        fixture_clear(&fixture);
}

static void test_limit_unenforceable(void **state)
{
        uint32_t disk = UINT32_C(1) << BH_LIMIT_DISK_BYTES;
        struct fixture only = {0}, other = {0}, both = {0};

        (void)state;
        host_tier_set(&only.host.tier[BH_TIER_SUBPROCESS], "subprocess", ALL_FEATURES, disk);
        decide(&only, "{}", "{'capabilities': []}", TRUE_REQUEST);
        assert_false(only.decision.available);
        assert_true(only.decision.limit_unenforceable);
        assert_true(has_problem(&only, "tier subprocess: driver subprocess cannot enforce"
                                       " disk_bytes"));
        fixture_clear(&only);

        /* A stricter tier that can enforce it is taken. */
        host_tier_set(&other.host.tier[BH_TIER_SUBPROCESS], "subprocess", 0, disk);
        host_tier_set(&other.host.tier[BH_TIER_CONTAINER], "container", 0, 0);
        decide(&other, "{}", "{'capabilities': []}", TRUE_REQUEST);
        assert_true(other.decision.available);
        assert_false(other.decision.limit_unenforceable);
        assert_int_equal(other.decision.tier, BH_TIER_CONTAINER);
        fixture_clear(&other);

        /* A tier that lacks more than the limit is not unavailable because of the limit. */
        host_tier_set(&both.host.tier[BH_TIER_VM], "vm", 0, disk);
        decide(&both, "{}", "{'capabilities': ['root.inside']}", TRUE_REQUEST);
        assert_false(both.decision.available);
        assert_false(both.decision.limit_unenforceable);
        fixture_clear(&both);
}

/* The policy's roots narrowed after the agent was put. */
static void test_mount_roots(void **state)
{
        static const char capabilities[] = "{'capabilities': ['fs.mount.read'], 'mounts':"
                                           " [{'source': '/srv/a', 'target': '/data', 'mode':"
                                           " 'ro'}]}";
        struct fixture fixture = {0};

        (void)state;
        host_tier_set(&fixture.host.tier[BH_TIER_SUBPROCESS], "subprocess", ALL_FEATURES, 0);
        decide(&fixture, "{}", capabilities, TRUE_REQUEST);
        assert_false(fixture.decision.available);
        assert_null(fixture.decision.plan);
        assert_true(has_problem(&fixture, "/srv/a"));
        fixture_clear(&fixture);

        /* Then it is not only a limit that is in the way. */
        host_tier_set(&fixture.host.tier[BH_TIER_SUBPROCESS], "subprocess", ALL_FEATURES,
                      UINT32_C(1) << BH_LIMIT_PIDS);
        decide(&fixture, "{}", capabilities, TRUE_REQUEST);
        assert_false(fixture.decision.limit_unenforceable);
        fixture_clear(&fixture);
}

static void test_storage(void **state)
{
        static const struct {
                int64_t memory, disk;
                enum bh_scratch_backing backing;
                int64_t inodes, shm;
        } cases[] = {
                {268435456, 67108864, BH_SCRATCH_TMPFS, 4096, 33554432},
                {268435456, 134217728, BH_SCRATCH_TMPFS, 8192, 33554432},
                {268435456, 134217729, BH_SCRATCH_IMAGE, 8192, 33554432},
                {4294967296, 1, BH_SCRATCH_TMPFS, 256, 67108864},
                {1, 4294967296, BH_SCRATCH_IMAGE, 262144, 4096},
                {100000, 1, BH_SCRATCH_TMPFS, 256, 12288},
                {4294967296, 1099511627776, BH_SCRATCH_IMAGE, 1048576, 67108864},
        };

        (void)state;
        for (size_t i = 0; i < COUNT(cases); i++) {
                struct fixture fixture = {0};
                _cleanup_free_ char *request = bh_format(
                        "{'agent': 'a', 'argv': ['true'], 'limits': {'memory_bytes': %lld,"
                        " 'disk_bytes': %lld}}",
                        (long long)cases[i].memory, (long long)cases[i].disk);

                host_tier_set(&fixture.host.tier[BH_TIER_SUBPROCESS], "subprocess", 0, 0);
                decide(&fixture, "{'limits': {'disk_bytes': {'max': 1099511627776}}}",
                       "{'capabilities': []}", request);
                const struct bh_plan *plan = fixture.decision.plan;
                assert_int_equal(plan->scratch_backing, cases[i].backing);
                assert_int_equal(plan->scratch_bytes, cases[i].disk);
                assert_int_equal(plan->scratch_inodes, cases[i].inodes);
                assert_int_equal(plan->shm_bytes, cases[i].shm);
                fixture_clear(&fixture);
        }
}

static void test_environment_is_complete(void **state)
{
        static const char *const expected[] = {
                "A=1",          "HOME=/home/x",
                "LANG=C.UTF-8", "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
                "TMPDIR=/tmp",  "Z==",
        };
        struct fixture fixture = {0};

        (void)state;
        host_tier_set(&fixture.host.tier[BH_TIER_SUBPROCESS], "subprocess", 0, 0);
        decide(&fixture, "{}", "{'capabilities': ['fs.workspace.write']}",
               "{'agent': 'a', 'argv': ['true'], 'env': {'Z': '=', 'HOME': '/home/x', 'A': '1'}}");
        for (size_t i = 0; i < COUNT(expected); i++)
                assert_string_equal(fixture.decision.plan->environment[i], expected[i]);
        assert_null(fixture.decision.plan->environment[COUNT(expected)]);
        assert_true(fixture.decision.plan->workspace_writable);
        assert_int_equal(fixture.decision.plan->inside_uid, 1000);
        fixture_clear(&fixture);
}

/* docs/architecture.md, "Controls": the subprocess tier asks for every one of them. */
static void test_subprocess_controls(void **state)
{
        static const char *const expected[] = {
                "namespace.user", "namespace.mount", "namespace.pid",      "namespace.net",
                "namespace.ipc",  "namespace.uts",   "namespace.cgroup",   "root.readonly",
                "proc.private",   "dev.private",     "scratch.size",       "shm.size",
                "workspace",      "uid.distinct",    "capabilities.empty", "no_new_privs",
                "seccomp",        "landlock",        "cgroup.memory",      "cgroup.pids",
                "cgroup.cpu",     "cgroup.kill",     "gateway.deny_all",   "descriptors.closed",
                "limit.wall",     "limit.cpu",       "limit.output",
        };
        struct fixture fixture = {0};

        (void)state;
        host_tier_set(&fixture.host.tier[BH_TIER_SUBPROCESS], "subprocess", 0, 0);
        decide(&fixture, "{}", "{'capabilities': ['command.run']}", TRUE_REQUEST);
        const struct bh_plan *plan = fixture.decision.plan;
        assert_int_equal(plan->control_count, COUNT(expected));
        for (size_t i = 0; i < COUNT(expected); i++)
                assert_string_equal(plan->controls[i], expected[i]);
        assert_false(plan->workspace_writable);
        fixture_clear(&fixture);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_lowest_available),
                cmocka_unit_test(test_unavailable),
                cmocka_unit_test(test_min_tier),
                cmocka_unit_test(test_features),
                cmocka_unit_test(test_capability_without_scope),
                cmocka_unit_test(test_limit_unenforceable),
                cmocka_unit_test(test_mount_roots),
                cmocka_unit_test(test_storage),
                cmocka_unit_test(test_environment_is_complete),
                cmocka_unit_test(test_subprocess_controls),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
