/* Agents: shapes, scopes that need their capability, secret entries, canonical form and
 * digest, and what one set holds beyond another. */
#include "support.h"

#include "policy/agent.h"

static int decode(const char *text, struct bh_capabilities *ret, struct bh_error *error)
{
        _cleanup_json_ json_t *document = parse(text);

        return bh_capabilities_decode(&BH_JSON_ROOT(document), ret, error);
}

static struct bh_capabilities set_of(const char *text)
{
        struct bh_capabilities set = {0};
        struct bh_error error = {0};

        if (decode(text, &set, &error) < 0)
                fail_msg("%s: %s: %s", text, error.subject, error.message);
        return set;
}

#define MISMATCH "capability_scope_mismatch"

#define RULE     "{'host': '*.example.test', 'ports': [443]}"
#define SECRET(members)                                                         \
        "{'capabilities': ['net.egress', 'secrets.use'], 'egress': [" RULE "]," \
        " 'secrets': [{'name': 'k', " members "}]}"
#define PLACED(as) SECRET("'hosts': ['a.example.test'], 'as': " as)
#define MOUNT(capabilities, members)                                                              \
        "{'capabilities': [" capabilities "], 'mounts': [{'source': '/srv/a', 'target': '/data'," \
        " " members "}]}"

static const struct refusal refusals[] = {
        {"null", "", ""},
        {"[]", "", ""},
        {"{}", "/capabilities", ""},
        {"{'capabilities': null}", "/capabilities", ""},
        {"{'capabilities': 'code.execute'}", "/capabilities", ""},
        {"{'capabilities': ['net.egres']}", "/capabilities/0", ""},
        {"{'capabilities': ['NET.EGRESS']}", "/capabilities/0", ""},
        {"{'capabilities': [7]}", "/capabilities/0", ""},
        {"{'capabilities': ['code.execute', 'code.execute']}", "/capabilities/1", ""},
        {"{'capabilities': [], 'egres': []}", "/egres", ""},
        {"{'capabilities': [], 'owner': 'x'}", "/owner", ""},
        {"{'capabilities': [], 'egress': null}", "/egress", ""},
        {"{'capabilities': [], 'mounts': null}", "/mounts", ""},
        {"{'capabilities': [], 'secrets': null}", "/secrets", ""},
        /* scopes without their capability */
        {"{'capabilities': ['code.execute'], 'egress': [" RULE "]}", "/egress", MISMATCH},
        {MOUNT("'fs.mount.write'", "'mode': 'ro'"), "/mounts/0", MISMATCH},
        {MOUNT("'fs.mount.read'", "'mode': 'rw', 'justification': 'x'"), "/mounts/0", MISMATCH},
        {MOUNT("'fs.mount.write'", "'mode': 'rw'"), "/mounts/0/justification", MISMATCH},
        {MOUNT("'fs.mount.write'", "'mode': 'rw', 'justification': ''"), "/mounts/0/justification",
         MISMATCH},
        {MOUNT("'fs.mount.write'", "'mode': 'rw', 'justification': '  '"),
         "/mounts/0/justification", MISMATCH},
        {"{'capabilities': ['net.egress'], 'egress': [" RULE "], 'secrets': [{'name': 'k',"
         " 'hosts': ['a.example.test'], 'as': {'query': 'q'}}]}",
         "/secrets", MISMATCH},
        /* secrets beyond egress */
        {SECRET("'hosts': ['b.example.test', 'example.test'], 'as': {'query': 'q'}"),
         "/secrets/0/hosts/1", MISMATCH},
        {SECRET("'hosts': ['*.test.test'], 'as': {'query': 'q'}"), "/secrets/0/hosts/0", MISMATCH},
        {SECRET("'hosts': ['a.example.test'], 'ports': [443, 80], 'as': {'query': 'q'}"),
         "/secrets/0/hosts/0", MISMATCH},
        {"{'capabilities': ['secrets.use'], 'secrets': [{'name': 'k', 'hosts': ['a.example.test'],"
         " 'as': {'query': 'q'}}]}",
         "/secrets/0/hosts/0", MISMATCH},
        /* the shape of a secret entry */
        {SECRET("'hosts': [], 'as': {'query': 'q'}"), "/secrets/0/hosts", ""},
        {SECRET("'hosts': ['*'], 'as': {'query': 'q'}"), "/secrets/0/hosts/0", ""},
        {SECRET("'hosts': ['a.example.test', 'A.example.test.'], 'as': {'query': 'q'}"),
         "/secrets/0/hosts/1", ""},
        {SECRET("'as': {'query': 'q'}"), "/secrets/0/hosts", ""},
        {SECRET("'hosts': ['a.example.test']"), "/secrets/0/as", ""},
        {SECRET("'hosts': ['a.example.test'], 'ports': [], 'as': {'query': 'q'}"),
         "/secrets/0/ports", ""},
        {SECRET("'hosts': ['a.example.test'], 'value': 'v', 'as': {'query': 'q'}"),
         "/secrets/0/value", ""},
        {PLACED("{}"), "/secrets/0/as", ""},
        {PLACED("'Authorization'"), "/secrets/0/as", ""},
        {PLACED("{'header': 'A', 'query': 'q'}"), "/secrets/0/as/query", ""},
        {PLACED("{'query': 'q', 'format': '{}'}"), "/secrets/0/as/format", ""},
        {PLACED("{'header': 'X Key'}"), "/secrets/0/as/header", ""},
        {PLACED("{'header': ''}"), "/secrets/0/as/header", ""},
        {PLACED("{'header': 'X-Key:'}"), "/secrets/0/as/header", ""},
        {PLACED("{'header': 'host'}"), "/secrets/0/as/header", ""},
        {PLACED("{'header': 'Content-Length'}"), "/secrets/0/as/header", ""},
        {PLACED("{'header': 'TRANSFER-ENCODING'}"), "/secrets/0/as/header", ""},
        {PLACED("{'header': 'Connection'}"), "/secrets/0/as/header", ""},
        {PLACED("{'header': 'proxy-authorization'}"), "/secrets/0/as/header", ""},
        {PLACED("{'header': 'A', 'format': 'Bearer'}"), "/secrets/0/as/format", ""},
        {PLACED("{'header': 'A', 'format': '{}{}'}"), "/secrets/0/as/format", ""},
        {PLACED("{'header': 'A', 'format': '{}\\r\\n'}"), "/secrets/0/as/format", ""},
        {PLACED("{'basic': 'u'}"), "/secrets/0/as/basic", ""},
        {PLACED("{'basic': {}}"), "/secrets/0/as/basic/user", ""},
        {PLACED("{'basic': {'user': 'a:b'}}"), "/secrets/0/as/basic/user", ""},
        {PLACED("{'basic': {'user': 'u', 'password': 'p'}}"), "/secrets/0/as/basic/password", ""},
        {PLACED("{'query': 'a&b'}"), "/secrets/0/as/query", ""},
        {"{'capabilities': ['net.egress', 'secrets.use'], 'egress': [" RULE "], 'secrets': ["
         "{'name': 'a-b', 'hosts': ['a.example.test'], 'as': {'query': 'q'}},"
         "{'name': 'a.b', 'hosts': ['a.example.test'], 'as': {'query': 'q'}}]}",
         "/secrets/1/name", ""},
};

static void test_refusals(void **state)
{
        (void)state;
        for (size_t i = 0; i < COUNT(refusals); i++) {
                struct bh_capabilities set = {.set = 77};
                struct bh_error error = {0};

                assert_refused(&refusals[i], decode(refusals[i].document, &set, &error), &error);
                assert_int_equal(set.set, 77);
        }
}

static const struct refusal agent_refusals[] = {
        {"{'owner': '', 'capabilities': []}", "/owner", ""},
        {"{'owner': ' ', 'capabilities': []}", "/owner", ""},
        {"{'owner': 'a\\nb', 'capabilities': []}", "/owner", ""},
        {"{'owner': null, 'capabilities': []}", "/owner", ""},
        {"{'owner': 'x'}", "/capabilities", ""},
        {"{'owner': 'x', 'capabilities': [], 'labels': null}", "/labels", ""},
        {"{'owner': 'x', 'capabilities': [], 'labels': {'a': 1}}", "/labels/a", ""},
        {"{'owner': 'x', 'capabilities': [], 'labels': {'a b': 'c'}}", "/labels/a b", ""},
        {"{'owner': 'x', 'capabilities': [], 'generation': 3}", "/generation", ""},
};

static void test_agent_refusals(void **state)
{
        (void)state;
        for (size_t i = 0; i < COUNT(agent_refusals); i++) {
                _cleanup_json_ json_t *document = parse(agent_refusals[i].document);
                struct bh_agent_spec *spec = NULL;
                struct bh_error error = {0};

                assert_refused(&agent_refusals[i],
                               bh_agent_spec_decode(&BH_JSON_ROOT(document), &spec, &error),
                               &error);
                assert_null(spec);
        }
}

/* One with everything, as it comes back. */
static void test_agent_round_trip(void **state)
{
        _cleanup_json_ json_t *document = parse(
                "{'owner': 'data-platform@example.com', 'capabilities': ['code.execute',"
                " 'fs.workspace.write', 'fs.mount.read', 'fs.mount.write', 'net.egress',"
                " 'secrets.use'], 'egress': [{'host': 'api.example.com', 'ports': [443]}, {'host':"
                " '*.pkg.example.com', 'ports': [443], 'methods': ['GET', 'HEAD'], 'paths':"
                " ['/simple/*']}, {'host': 'db.internal', 'ports': [5432], 'addresses':"
                " ['10.9.0.5/32']}, {'cidr': '10.9.1.0/28', 'ports': [6379]}], 'mounts':"
                " [{'source': '/srv/datasets/a', 'target': '/data', 'mode': 'ro'}, {'source':"
                " '/srv/cache/a', 'target': '/cache', 'mode': 'rw', 'justification': 'wheel cache,"
                " written by pip'}], 'secrets': [{'name': 'example-key', 'hosts':"
                " ['api.example.com'], 'as': {'header': 'Authorization', 'format': 'Bearer {}'}}],"
                " 'labels': {'team': 'data'}}");
        struct bh_agent_spec *spec = NULL, *again = NULL;
        char digest[BH_DIGEST_TEXT_SIZE], digest_again[BH_DIGEST_TEXT_SIZE];

        (void)state;
        assert_int_equal(bh_agent_spec_decode(&BH_JSON_ROOT(document), &spec, NULL), 0);
        assert_string_equal(spec->owner, "data-platform@example.com");
        assert_json(spec->labels, "{'team': 'data'}");
        _cleanup_json_ json_t *encoded = bh_capabilities_encode(&spec->capabilities);
        assert_json(json_object_get(encoded, "capabilities"),
                    "['code.execute', 'fs.workspace.write', 'fs.mount.read', 'fs.mount.write',"
                    " 'net.egress', 'secrets.use']");
        assert_int_equal(json_array_size(json_object_get(encoded, "egress")), 4);
        assert_json(json_object_get(encoded, "mounts"),
                    "[{'justification': 'wheel cache, written by pip', 'mode': 'rw', 'source':"
                    " '/srv/cache/a', 'target': '/cache'}, {'mode': 'ro', 'source':"
                    " '/srv/datasets/a', 'target': '/data'}]");
        assert_json(json_object_get(encoded, "secrets"),
                    "[{'name': 'example-key', 'hosts': ['api.example.com'], 'as': {'header':"
                    " 'Authorization', 'format': 'Bearer {}'}}]");
        assert_int_equal(bh_agent_spec_decode(&BH_JSON_ROOT(encoded), &again, NULL), 0);
        _cleanup_json_ json_t *reencoded = bh_capabilities_encode(&again->capabilities);
        assert_true(json_equal(encoded, reencoded));
        bh_capabilities_digest(&spec->capabilities, digest);
        bh_capabilities_digest(&again->capabilities, digest_again);
        assert_string_equal(digest, digest_again);
        bh_agent_spec_free(spec);
        bh_agent_spec_free(again);
}

/* The digest names the set, not the way it was written. */
static void test_digest_is_canonical(void **state)
{
        struct bh_capabilities a = set_of(
                "{'capabilities': ['secrets.use', 'net.egress'], 'egress': [{'host': 'B.test.',"
                " 'ports': [80, 443]}, {'host': 'a.test', 'ports': [1], 'methods': ['PUT', "
                "'GET']}],"
                " 'secrets': [{'name': 'k', 'hosts': ['b.test', 'A.test'], 'as': {'header': "
                "'X'}}]}");
        struct bh_capabilities b = set_of(
                "{'secrets': [{'as': {'format': '{}', 'header': 'X'}, 'name': 'k', 'hosts':"
                " ['a.test', 'b.test']}], 'egress': [{'host': 'a.test', 'methods': ['GET', 'PUT'],"
                " 'ports': [1]}, {'ports': [443, 80], 'host': 'b.test'}], 'capabilities':"
                " ['net.egress', 'secrets.use'], 'mounts': []}");
        struct bh_capabilities c = set_of("{'capabilities': ['net.egress', 'secrets.use']}");
        char digest_a[BH_DIGEST_TEXT_SIZE], digest_b[BH_DIGEST_TEXT_SIZE],
                digest_c[BH_DIGEST_TEXT_SIZE];

        (void)state;
        bh_capabilities_digest(&a, digest_a);
        bh_capabilities_digest(&b, digest_b);
        bh_capabilities_digest(&c, digest_c);
        assert_string_equal(digest_a, digest_b);
        assert_string_not_equal(digest_a, digest_c);
        bh_capabilities_clear(&a);
        bh_capabilities_clear(&b);
        bh_capabilities_clear(&c);
}

static void test_places(void **state)
{
        struct bh_capabilities set = set_of(
                "{'capabilities': ['net.egress', 'secrets.use'], 'egress': [" RULE "], 'secrets': ["
                "{'name': 'h', 'hosts': ['a.example.test'], 'as': {'header': 'X-Api-Key'}},"
                "{'name': 'b', 'hosts': ['*.example.test'], 'as': {'basic': {'user': ''}}},"
                "{'name': 'q', 'hosts': ['a.example.test'], 'ports': [443], 'methods': ['GET'],"
                " 'paths': ['/v1/*'], 'as': {'query': 'api_key'}}]}");

        (void)state;
        assert_int_equal(set.secrets.count, 3);
        assert_int_equal(set.secrets.items[0].place, BH_SECRET_HEADER);
        assert_string_equal(set.secrets.items[0].format, "{}");
        assert_int_equal(set.secrets.items[1].place, BH_SECRET_BASIC);
        assert_string_equal(set.secrets.items[1].key, "");
        assert_string_equal(set.secrets.items[1].hosts[0], "*.example.test");
        assert_int_equal(set.secrets.items[2].place, BH_SECRET_QUERY);
        assert_string_equal(set.secrets.items[2].key, "api_key");
        assert_int_equal(set.secrets.items[2].ports[0], 443);

        struct bh_secret_bindings copy;
        _cleanup_json_ json_t *encoded = bh_secret_bindings_encode(&set.secrets);
        bh_secret_bindings_copy(&set.secrets, &copy);
        bh_capabilities_clear(&set);
        _cleanup_json_ json_t *copied = bh_secret_bindings_encode(&copy);
        assert_true(json_equal(encoded, copied));
        bh_secret_bindings_clear(&copy);
}

static void assert_added(const char *previous, const char *next, const char *expected)
{
        struct bh_capabilities before = set_of(previous), after = set_of(next);
        _cleanup_json_ json_t *added = bh_capabilities_added(&before, &after);

        assert_json(added, expected);
        bh_capabilities_clear(&before);
        bh_capabilities_clear(&after);
}

#define WITH_SECRET(hosts, as)                                                                \
        "{'capabilities': ['net.egress', 'secrets.use'], 'egress': [" RULE "], 'secrets': [{" \
        "'name': 'k', 'hosts': [" hosts "], 'as': " as "}]}"

static void test_added(void **state)
{
        (void)state;
        assert_added("{'capabilities': []}", "{'capabilities': []}", "[]");
        assert_added("{'capabilities': ['code.execute']}",
                     "{'capabilities': ['net.egress', 'code.execute', 'command.run']}",
                     "['command.run', 'net.egress']");
        assert_added("{'capabilities': ['net.egress', 'code.execute']}", "{'capabilities': []}",
                     "[]");
        assert_added(
                "{'capabilities': ['net.egress'], 'egress': [{'host': 'a.test', 'ports': [1]}]}",
                "{'capabilities': ['net.egress'], 'egress': [{'host': 'A.test', 'ports': [1]},"
                " {'cidr': '10.0.0.0/8', 'ports': [2]}]}",
                "['egress:{\\'cidr\\':\\'10.0.0.0/8\\',\\'ports\\':[2]}']");
        assert_added(MOUNT("'fs.mount.read'", "'mode': 'ro'"),
                     MOUNT("'fs.mount.write'", "'mode': 'rw', 'justification': 'x'"),
                     "['fs.mount.write', 'mount:/data:rw']");
        /* Words about a mount are no growth; another source behind its target is. */
        assert_added(MOUNT("'fs.mount.read'", "'mode': 'ro'"),
                     MOUNT("'fs.mount.read'", "'mode': 'ro', 'justification': 'more words'"), "[]");
        assert_added("{'capabilities': ['fs.mount.read'], 'mounts': [{'source': '/srv/b', 'target':"
                     " '/data', 'mode': 'ro'}]}",
                     MOUNT("'fs.mount.read'", "'mode': 'ro'"), "['mount:/data:ro']");
        assert_added(WITH_SECRET("'a.example.test'", "{'query': 'q'}"),
                     WITH_SECRET("'b.example.test', 'a.example.test'", "{'query': 'q'}"),
                     "['secret:k@b.example.test']");
        assert_added(WITH_SECRET("'a.example.test'", "{'header': 'X'}"),
                     WITH_SECRET("'a.example.test'", "{'query': 'q'}"),
                     "['secret:k@a.example.test']");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_refusals),         cmocka_unit_test(test_agent_refusals),
                cmocka_unit_test(test_agent_round_trip), cmocka_unit_test(test_digest_is_canonical),
                cmocka_unit_test(test_places),           cmocka_unit_test(test_added),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
