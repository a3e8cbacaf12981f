/* The policy file: what the default says, what is left out, what is refused and where. */
#include "support.h"

#include <fcntl.h>
#include <unistd.h>

#include "policy/policy.h"

static int decode(const char *text, struct bh_policy **ret, struct bh_error *error)
{
        _cleanup_json_ json_t *document = parse(text);

        return bh_policy_decode(&BH_JSON_ROOT(document), ret, error);
}

static struct bh_policy *policy_of(const char *text)
{
        struct bh_policy *policy = NULL;
        struct bh_error error = {0};

        if (decode(text, &policy, &error) < 0)
                fail_msg("%s: %s: %s", text, error.subject, error.message);
        return policy;
}

#define RULE(members) "{'rules': [{'name': 'r', 'tier': 'vm', 'text': 't', " members "}]}"

static const struct refusal refusals[] = {
        {"null", "", ""},
        {"[]", "", ""},
        {"{'rule': []}", "/rule", ""},
        {"{'version': 1}", "/version", ""},
        {"{'rules': null}", "/rules", ""},
        {"{'rules': {}}", "/rules", ""},
        {"{'rules': [{}]}", "/rules/0/name", ""},
        {RULE("'when': {}, 'action': 'deny'"), "/rules/0/action", ""},
        {"{'rules': [{'name': 'r', 'when': {}, 'text': 't'}]}", "/rules/0/tier", ""},
        {"{'rules': [{'name': 'r', 'when': {}, 'tier': 'VM ', 'text': 't'}]}", "/rules/0/tier", ""},
        {"{'rules': [{'name': 'r', 'when': {}, 'tier': 'vm', 'text': ''}]}", "/rules/0/text", ""},
        {"{'rules': [{'name': 'A rule', 'when': {}, 'tier': 'vm', 'text': 't'}]}", "/rules/0/name",
         ""},
        {RULE("'when': null"), "/rules/0/when", ""},
        {RULE("'when': {'al': []}"), "/rules/0/when/al", ""},
        {RULE("'when': {'all': ['net.egres']}"), "/rules/0/when/all/0", ""},
        {RULE("'when': {'any': []}"), "/rules/0/when/any", ""},
        {RULE("'when': {'all': ['net.egress'], 'none': ['net.egress']}"), "/rules/0/when", ""},
        {RULE("'when': {'any': ['net.egress'], 'none': ['net.egress']}"), "/rules/0/when", ""},
        {RULE("'when': {}, 'unless_host': {}"), "/rules/0/unless_host/secrets_proxy", ""},
        {RULE("'when': {}, 'unless_host': {'secrets_proxy': 'far'}"),
         "/rules/0/unless_host/secrets_proxy", ""},
        {RULE("'when': {}, 'unless_host': {'kernel': '6'}"), "/rules/0/unless_host/kernel", ""},
        {"{'rules': [{'name': 'r', 'when': {}, 'tier': 'vm', 'text': 't'}, {'name': 'r', 'when': "
         "{},"
         " 'tier': 'vm', 'text': 't'}]}",
         "/rules/1/name", ""},
        {"{'limits': {'wall_ms': {'default': 10000000}}}", "/limits/wall_ms", ""},
        {"{'mounts': []}", "/mounts", ""},
        {"{'mounts': {'roots': []}}", "/mounts/roots", ""},
        {"{'mounts': {'allowed_roots': null}}", "/mounts/allowed_roots", ""},
        {"{'mounts': {'allowed_roots': ['']}}", "/mounts/allowed_roots/0", ""},
        {"{'mounts': {'allowed_roots': ['srv']}}", "/mounts/allowed_roots/0", ""},
        {"{'mounts': {'allowed_roots': ['/srv', '/']}}", "/mounts/allowed_roots/1", ""},
        {"{'mounts': {'allowed_roots': ['/srv/..']}}", "/mounts/allowed_roots/0", ""},
        {"{'mounts': {'allowed_roots': ['/proc/1']}}", "/mounts/allowed_roots/0", ""},
        {"{'mounts': {'allowed_roots': ['/srv', '/srv']}}", "/mounts/allowed_roots/1", ""},
        {"{'retier': {'on_raise': 'ignore'}}", "/retier/on_raise", ""},
        {"{'retier': {'drain_ms': -1}}", "/retier/drain_ms", ""},
        {"{'retier': {'drain_ms': 3600001}}", "/retier/drain_ms", ""},
        {"{'retier': {'drain': 1}}", "/retier/drain", ""},
        {"{'currency': {'max_age_days': 0}}", "/currency/max_age_days", ""},
        {"{'currency': {'on_stale': 'warn'}}", "/currency/on_stale", ""},
        {"{'owners': {'network': 'x'}}", "/owners/network", ""},
        {"{'owners': {'egress': ''}}", "/owners/egress", ""},
        {"{'posture': {'period_ms': 0}}", "/posture/period_ms", ""},
        {"{'posture': {'on_violation': 'ignore'}}", "/posture/on_violation", ""},
        {"{'secrets_proxy': 'none'}", "/secrets_proxy", ""},
        {"{'secrets_proxy': true}", "/secrets_proxy", ""},
};

static void test_refusals(void **state)
{
        (void)state;
        for (size_t i = 0; i < COUNT(refusals); i++) {
                struct bh_policy *policy = NULL;
                struct bh_error error = {0};

                assert_refused(&refusals[i], decode(refusals[i].document, &policy, &error), &error);
                assert_null(policy);
        }
}

static void test_default(void **state)
{
        struct bh_policy *policy = NULL;
        struct bh_error error = {0};

        (void)state;
        if (bh_policy_load(NULL, &policy, &error) < 0)
                fail_msg("%s: %s", error.subject, error.message);
        assert_int_equal(policy->rule_count, 7);
        assert_int_equal(policy->limits.standard.value[BH_LIMIT_WALL_MS], 30000);
        assert_int_equal(policy->limits.standard.value[BH_LIMIT_CPU_MS], 30000);
        assert_int_equal(policy->limits.standard.value[BH_LIMIT_MEMORY_BYTES], 268435456);
        assert_int_equal(policy->limits.standard.value[BH_LIMIT_PIDS], 128);
        assert_int_equal(policy->limits.standard.value[BH_LIMIT_DISK_BYTES], 67108864);
        assert_int_equal(policy->limits.standard.value[BH_LIMIT_OUTPUT_BYTES], 1048576);
        assert_int_equal(policy->allowed_root_count, 0);
        assert_int_equal(policy->on_raise, BH_ON_RAISE_KILL);
        assert_int_equal(policy->drain_ms, 30000);
        assert_int_equal(policy->currency_max_age_days, 90);
        assert_false(policy->currency_deny_stale);
        assert_int_equal(policy->posture_period_ms, 5000);
        assert_true(policy->posture_kill_on_violation);
        assert_false(policy->secrets_proxy_remote);
        for (int i = 0; i < BH_DIMENSION_COUNT; i++)
                assert_string_not_equal(policy->owners[i], "");

        /* The file in the tree is what is compiled in, and says everything there is. */
        struct bh_policy *file = NULL;
        assert_int_equal(bh_policy_load(BH_SOURCE_DIR "/deploy/policy.json", &file, NULL), 0);
        assert_string_equal(file->digest, policy->digest);
        bh_policy_free(file);
        bh_policy_free(policy);
}

/* Every member of the default document, taken out one at a time, changes nothing: what a file
 * leaves out is the built-in value. */
static void test_left_out_is_builtin(void **state)
{
        struct bh_policy *builtin = NULL, *empty = policy_of("{}");
        const char *member;
        json_t *value;

        (void)state;
        assert_int_equal(bh_policy_load(NULL, &builtin, NULL), 0);
        assert_string_equal(empty->digest, builtin->digest);
        _cleanup_json_ json_t *all = bh_policy_encode(builtin);
        json_object_foreach (all, member, value) {
                _cleanup_json_ json_t *less = json_copy(all);
                struct bh_policy *policy = NULL;

                json_object_del(less, member);
                assert_int_equal(bh_policy_decode(&BH_JSON_ROOT(less), &policy, NULL), 0);
                assert_string_equal(policy->digest, builtin->digest);
                bh_policy_free(policy);
        }
        bh_policy_free(empty);
        bh_policy_free(builtin);
}

static void test_members_apply(void **state)
{
        static const char text[] =
                "{'rules': [{'name': 'r', 'when': {'all': ['net.egress'], 'any': ['code.execute'],"
                " 'none': ['root.inside']}, 'unless_host': {'secrets_proxy': 'local'}, 'tier':"
                " 'container', 'text': 't'}], 'limits': {'pids': {'default': 7, 'max': 8}},"
                " 'mounts': {'allowed_roots': ['/srv/b', '/srv/a']}, 'retier': {'on_raise':"
                " 'drain'}, 'currency': {'on_stale': 'deny'}, 'owners': {'egress':"
                " 'net@example.com'}, 'posture': {'on_violation': 'report'}, 'secrets_proxy':"
                " 'remote'}";
        struct bh_policy *policy = policy_of(text), *again = NULL;

        (void)state;
        assert_int_equal(policy->rule_count, 1);
        assert_true(policy->rules[0].unless_secrets_proxy_local);
        assert_false(policy->rules[0].unless_secrets_proxy_remote);
        assert_int_equal(policy->rules[0].none, BH_CAP_BIT(BH_CAP_ROOT_INSIDE));
        assert_int_equal(policy->limits.max.value[BH_LIMIT_PIDS], 8);
        assert_int_equal(policy->limits.standard.value[BH_LIMIT_WALL_MS], 30000);
        assert_int_equal(policy->on_raise, BH_ON_RAISE_DRAIN);
        assert_int_equal(policy->drain_ms, 30000);
        assert_true(policy->currency_deny_stale);
        assert_int_equal(policy->currency_max_age_days, 90);
        assert_string_equal(policy->owners[BH_DIMENSION_EGRESS], "net@example.com");
        assert_false(policy->posture_kill_on_violation);
        assert_true(policy->secrets_proxy_remote);

        _cleanup_json_ json_t *encoded = bh_policy_encode(policy);
        assert_int_equal(bh_policy_decode(&BH_JSON_ROOT(encoded), &again, NULL), 0);
        assert_string_equal(again->digest, policy->digest);
        _cleanup_json_ json_t *reencoded = bh_policy_encode(again);
        assert_true(json_equal(encoded, reencoded));
        bh_policy_free(policy);
        bh_policy_free(again);
}

static void test_check_mounts(void **state)
{
        static const struct {
                const char *source;
                bool allowed;
        } cases[] = {
                {"/srv/a", true}, {"/srv/a/b", true}, {"/srv/ab", false},
                {"/srv", false},  {"/etc", false},    {"/var/run/docker.sock", false},
        };
        struct bh_policy *none = policy_of("{}");
        struct bh_policy *some = policy_of("{'mounts': {'allowed_roots': ['/opt', '/srv/a']}}");

        (void)state;
        for (size_t i = 0; i < COUNT(cases); i++) {
                char other[] = "/opt/x";
                _cleanup_free_ char *source = bh_strdup(cases[i].source);
                struct bh_mount_rule rules[] = {{.source = other}, {.source = source}};
                struct bh_mount_rules mounts = {.items = rules, .count = 2};
                struct bh_error error = {0};

                if ((bh_policy_check_mounts(some, &mounts, &error) == 0) != cases[i].allowed)
                        fail_msg("%s", cases[i].source);
                if (!cases[i].allowed) {
                        assert_string_equal(error.reason, "mount_not_allowed");
                        assert_string_equal(error.subject, "/mounts/1/source");
                }
                assert_int_equal(bh_policy_check_mounts(none, &mounts, &error), -1);
                assert_string_equal(error.subject, "/mounts/0/source");
        }
        bh_policy_free(none);
        bh_policy_free(some);
}

static void assert_load_fails(const char *text, const char *subject, const char *said)
{
        char path[] = "/tmp/bulkhead-test-policy-XXXXXX";
        struct bh_policy *policy = NULL;
        struct bh_error error = {0};
        int fd = mkostemp(path, O_CLOEXEC);

        assert_true(fd >= 0);
        assert_int_equal(bh_write_full(fd, text, strlen(text)), 0);
        bh_close(fd);
        int result = bh_policy_load(path, &policy, &error);
        unlink(path);
        assert_int_equal(result, -1);
        assert_null(policy);
        assert_string_equal(error.subject, subject);
        if (!strstr(error.message, path) || !strstr(error.message, said))
                fail_msg("%s", error.message);
}

static void test_load_errors(void **state)
{
        struct bh_policy *policy = NULL;
        struct bh_error error = {0};

        (void)state;
        assert_load_fails("{\"rules\": [{\"nam\": 1}]}", "/rules/0/nam", "/rules/0/nam: ");
        assert_load_fails("{\"secrets_proxy\": \"local\", \"secrets_proxy\": \"remote\"}",
                          "/secrets_proxy", "/secrets_proxy: ");
        assert_load_fails("", "", "");
        assert_load_fails("{} {}", "", "");
        assert_int_equal(bh_policy_load("/nonexistent/policy.json", &policy, &error), -1);
        assert_non_null(strstr(error.message, "/nonexistent/policy.json"));
        assert_null(policy);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_refusals),
                cmocka_unit_test(test_default),
                cmocka_unit_test(test_left_out_is_builtin),
                cmocka_unit_test(test_members_apply),
                cmocka_unit_test(test_check_mounts),
                cmocka_unit_test(test_load_errors),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
