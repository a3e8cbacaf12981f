/* The plan as JSON: there and back without a change, its digest, and what is refused. */
#include "fixture.h"

#define WHOLE_SET                                                                               \
        "{'capabilities': ['code.execute', 'fs.workspace.write', 'fs.mount.read',"              \
        " 'fs.mount.write', 'net.egress', 'secrets.use'], 'egress': [{'host': '*.example.com'," \
        " 'ports': [443], 'methods': ['GET'], 'paths': ['/simple/*']}, {'cidr': '10.9.1.0/28'," \
        " 'ports': [6379]}], 'mounts': [{'source': '/srv/a', 'target': '/data', 'mode': 'ro'}," \
        " {'source': '/srv/b', 'target': '/cache', 'mode': 'rw', 'justification': 'x'}],"       \
        " 'secrets': [{'name': 'k', 'hosts': ['a.example.com'], 'as': {'basic': {'user': 'u'}}}]}"
#define WHOLE_REQUEST                                                                         \
        "{'agent': 'a', 'argv': ['sh', '', 'x', 'x'], 'cwd': '/data', 'env': {'E': 'a\\nb'}," \
        " 'workspace': 'w1', 'limits': {'disk_bytes': 4294967296}}"

/* A plan that uses every member, as JSON. */
static json_t *whole_plan(void)
{
        struct fixture fixture = {0};

        host_tier_set(&fixture.host.tier[BH_TIER_VM], "vm", ALL_FEATURES, 0);
        decide(&fixture, "{'mounts': {'allowed_roots': ['/srv']}}", WHOLE_SET, WHOLE_REQUEST);
        assert_true(fixture.decision.available);
        json_t *plan = bh_plan_encode(fixture.decision.plan);
        fixture_clear(&fixture);
        return plan;
}

static json_t *small_plan(void)
{
        struct fixture fixture = {0};

        host_tier_set(&fixture.host.tier[BH_TIER_SUBPROCESS], "subprocess", 0, 0);
        decide(&fixture, "{}", "{'capabilities': []}", TRUE_REQUEST);
        json_t *plan = bh_plan_encode(fixture.decision.plan);
        fixture_clear(&fixture);
        return plan;
}

static void assert_identity(const json_t *encoded)
{
        struct bh_plan *plan = NULL;
        struct bh_error error = {0};
        char digest[BH_DIGEST_TEXT_SIZE], json_digest[BH_DIGEST_TEXT_SIZE];

        if (bh_plan_decode(&BH_JSON_ROOT(encoded), &plan, &error) < 0)
                fail_msg("%s: %s", error.subject, error.message);
        _cleanup_json_ json_t *again = bh_plan_encode(plan);
        assert_true(json_equal(encoded, again));
        bh_plan_digest(plan, digest);
        bh_json_digest(encoded, json_digest);
        assert_string_equal(digest, json_digest);
        bh_plan_free(plan);
}

static void test_identity(void **state)
{
        _cleanup_json_ json_t *whole = whole_plan(), *small = small_plan();

        (void)state;
        assert_identity(whole);
        assert_identity(small);
}

/* A plan from elsewhere lacks a member, or has one too many: never taken. */
static void test_every_member_is_needed(void **state)
{
        _cleanup_json_ json_t *whole = whole_plan();
        const char *member;
        json_t *value;

        (void)state;
        json_object_foreach (whole, member, value) {
                _cleanup_json_ json_t *less = json_copy(whole);
                _cleanup_free_ char *pointer = bh_format("/%s", member);
                struct bh_plan *plan = NULL;
                struct bh_error error = {0};

                json_object_del(less, member);
                assert_int_equal(bh_plan_decode(&BH_JSON_ROOT(less), &plan, &error), -1);
                assert_string_equal(error.subject, pointer);
                json_object_set_new(less, member, json_null());
                assert_int_equal(bh_plan_decode(&BH_JSON_ROOT(less), &plan, &error), -1);
                assert_null(plan);
        }
        json_object_set_new(whole, "extra", json_true());
        struct bh_plan *plan = NULL;
        assert_int_equal(bh_plan_decode(&BH_JSON_ROOT(whole), &plan, NULL), -1);
}

/* One member replaced. */
static const struct {
        const char *member, *value, *pointer;
} refusals[] = {
        {"version", "2", "/version"},
        {"tier", "{'required': 'vm', 'effective': 'container'}", "/tier/effective"},
        {"tier", "{'required': 'vm'}", "/tier/effective"},
        {"driver", "''", "/driver"},
        {"capabilities", "['root']", "/capabilities/0"},
        {"capability_digest", "'sha256:0'", "/capability_digest"},
        {"policy_digest",
         "'SHA256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'",
         "/policy_digest"},
        {"policy_digest",
         "'sha256:zaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'",
         "/policy_digest"},
        {"argv", "[]", "/argv"},
        {"argv", "[null]", "/argv/0"},
        {"cwd", "'data'", "/cwd"},
        {"environment", "['HOME']", "/environment"},
        {"environment", "['=x']", "/environment"},
        {"identity", "{'uid': -1, 'gid': 0}", "/identity/uid"},
        {"identity", "{'uid': 0}", "/identity/gid"},
        {"limits", "{}", "/limits/wall_ms"},
        {"workspace", "{'kind': 'ephemeral', 'name': 'w', 'mode': 'rw'}", "/workspace/name"},
        {"workspace", "{'kind': 'named', 'name': null, 'mode': 'rw'}", "/workspace/name"},
        {"workspace", "{'kind': 'named', 'name': '../w', 'mode': 'rw'}", "/workspace/name"},
        {"workspace", "{'kind': 'named', 'name': 'w', 'mode': 'rwx'}", "/workspace/mode"},
        {"scratch", "{'backing': 'disk', 'bytes': 1, 'inodes': 1, 'shm_bytes': 1}",
         "/scratch/backing"},
        {"scratch", "{'backing': 'tmpfs', 'bytes': 0, 'inodes': 1, 'shm_bytes': 1}",
         "/scratch/bytes"},
        {"mounts", "[{'source': '/srv/a', 'target': '/etc', 'mode': 'ro'}]", "/mounts/0/target"},
        {"egress", "[{'host': '*', 'ports': [1]}]", "/egress/0/host"},
        {"secrets", "[{'name': 'k'}]", "/secrets/0/hosts"},
        {"controls", "[]", "/controls"},
        {"controls", "['seccomp', 'seccomp']", "/controls/1"},
        {"reasons", "[]", "/reasons"},
        {"reasons", "[{'why': 'x'}]", "/reasons/0/why"},
};

static void test_refusals(void **state)
{
        _cleanup_json_ json_t *whole = whole_plan();

        (void)state;
        for (size_t i = 0; i < COUNT(refusals); i++) {
                _cleanup_json_ json_t *changed = json_copy(whole);
                struct bh_plan *plan = NULL;
                struct bh_error error = {0};

                json_object_set_new(changed, refusals[i].member, parse(refusals[i].value));
                if (bh_plan_decode(&BH_JSON_ROOT(changed), &plan, &error) == 0)
                        fail_msg("accepted: %s %s", refusals[i].member, refusals[i].value);
                assert_string_equal(error.subject, refusals[i].pointer);
                assert_null(plan);
        }
}

/* Any change is another digest. */
static void test_digest(void **state)
{
        _cleanup_json_ json_t *whole = whole_plan(), *changed = json_deep_copy(whole);
        struct bh_plan *plan = NULL, *other = NULL;
        char digest[BH_DIGEST_TEXT_SIZE], other_digest[BH_DIGEST_TEXT_SIZE];

        (void)state;
        json_object_set_new(json_object_get(changed, "limits"), "pids", json_integer(129));
        assert_int_equal(bh_plan_decode(&BH_JSON_ROOT(whole), &plan, NULL), 0);
        assert_int_equal(bh_plan_decode(&BH_JSON_ROOT(changed), &other, NULL), 0);
        bh_plan_digest(plan, digest);
        bh_plan_digest(other, other_digest);
        assert_string_not_equal(digest, other_digest);
        bh_plan_free(plan);
        bh_plan_free(other);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_identity),
                cmocka_unit_test(test_every_member_is_needed),
                cmocka_unit_test(test_refusals),
                cmocka_unit_test(test_digest),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
