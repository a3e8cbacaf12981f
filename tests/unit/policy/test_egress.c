/* Egress rules: what is refused and where, canonical form, matching, covering. */
#include "support.h"

#include "policy/egress.h"

static int decode(const char *text, struct bh_egress_rules *ret, struct bh_error *error)
{
        _cleanup_json_ json_t *document = parse(text);

        return bh_egress_rules_decode(&BH_JSON_ROOT(document), ret, error);
}

static struct bh_egress_rules rules_of(const char *text)
{
        struct bh_egress_rules rules = {0};
        struct bh_error error = {0};

        if (decode(text, &rules, &error) < 0)
                fail_msg("%s: %s: %s", text, error.subject, error.message);
        return rules;
}

#define HOST(name) "[{'host': '" name "', 'ports': [443]}]"

static const struct refusal refusals[] = {
        /* a list that is none (B10) */
        {"null", "", ""},
        {"'allowed.test'", "", ""},
        {"{}", "", ""},
        {"['']", "/0", ""},
        {"[',']", "/0", ""},
        {"[null]", "/0", ""},
        {"[{}]", "/0", ""},
        {"[{'host': null, 'ports': [443]}]", "/0/host", ""},
        {"[{'host': 'a.test'}]", "/0/ports", ""},
        {"[{'host': 'a.test', 'cidr': '10.0.0.0/8', 'ports': [443]}]", "/0", ""},
        {"[{'ports': [443]}]", "/0", ""},
        {"[{'host': 'a.test', 'ports': [443], 'port': 1}]", "/0/port", ""},
        /* host names (B03, B08) */
        {HOST(""), "/0/host", ""},
        {HOST("*"), "/0/host", ""},
        {HOST("*."), "/0/host", ""},
        {HOST("*.test"), "/0/host", ""},
        {HOST("*.*.example.test"), "/0/host", ""},
        {HOST("a.*.test"), "/0/host", ""},
        {HOST("exa*mple.test"), "/0/host", ""},
        {HOST(".example.test"), "/0/host", ""},
        {HOST("example..test"), "/0/host", ""},
        {HOST("example.test.."), "/0/host", ""},
        {HOST("."), "/0/host", ""},
        {HOST("https://x"), "/0/host", ""},
        {HOST("x/y"), "/0/host", ""},
        {HOST("x:443"), "/0/host", ""},
        {HOST("x y"), "/0/host", ""},
        {HOST("x\\n"), "/0/host", ""},
        {HOST("user@x.test"), "/0/host", ""},
        {HOST("-a.test"), "/0/host", ""},
        {HOST("a-.test"), "/0/host", ""},
        {HOST("_dmarc.example.test"), "/0/host", ""},
        {HOST("b\\u00fccher.test"), "/0/host", ""},
        {HOST("localhost"), "/0/host", ""},
        {HOST("LOCALHOST."), "/0/host", ""},
        {HOST("a.localhost"), "/0/host", ""},
        {HOST("*.a.localhost"), "/0/host", ""},
        {HOST("127.0.0.1"), "/0/host", ""},
        {HOST("127.1"), "/0/host", ""},
        {HOST("0"), "/0/host", ""},
        {HOST("0x7f.1"), "/0/host", ""},
        {HOST("0x7F000001"), "/0/host", ""},
        {HOST("a.0x"), "/0/host", ""},
        {HOST("2130706433"), "/0/host", ""},
        {HOST("2852039166"), "/0/host", ""},
        {HOST("0251.0376.0251.0376"), "/0/host", ""},
        {HOST("example.123"), "/0/host", ""},
        {HOST("[::1]"), "/0/host", ""},
        {HOST("::1"), "/0/host", ""},
        {HOST("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.test"), "/0/host",
         ""},
        /* ports (B11) */
        {"[{'host': 'a.test', 'ports': []}]", "/0/ports", ""},
        {"[{'host': 'a.test', 'ports': 443}]", "/0/ports", ""},
        {"[{'host': 'a.test', 'ports': [0]}]", "/0/ports/0", ""},
        {"[{'host': 'a.test', 'ports': [65536]}]", "/0/ports/0", ""},
        {"[{'host': 'a.test', 'ports': [-1]}]", "/0/ports/0", ""},
        {"[{'host': 'a.test', 'ports': [443.0]}]", "/0/ports/0", ""},
        {"[{'host': 'a.test', 'ports': ['443']}]", "/0/ports/0", ""},
        {"[{'host': 'a.test', 'ports': [443, 80, 443]}]", "/0/ports/2", ""},
        /* methods and paths */
        {"[{'host': 'a.test', 'ports': [1], 'methods': []}]", "/0/methods", ""},
        {"[{'host': 'a.test', 'ports': [1], 'methods': ['get']}]", "/0/methods/0", ""},
        {"[{'host': 'a.test', 'ports': [1], 'methods': ['GE T']}]", "/0/methods/0", ""},
        {"[{'host': 'a.test', 'ports': [1], 'methods': ['GET', 'GET']}]", "/0/methods/1", ""},
        {"[{'host': 'a.test', 'ports': [1], 'paths': []}]", "/0/paths", ""},
        {"[{'host': 'a.test', 'ports': [1], 'paths': ['']}]", "/0/paths/0", ""},
        {"[{'host': 'a.test', 'ports': [1], 'paths': ['a']}]", "/0/paths/0", ""},
        {"[{'host': 'a.test', 'ports': [1], 'paths': ['/*/a']}]", "/0/paths/0", ""},
        {"[{'host': 'a.test', 'ports': [1], 'paths': ['/a**']}]", "/0/paths/0", ""},
        {"[{'host': 'a.test', 'ports': [1], 'paths': ['/a?b']}]", "/0/paths/0", ""},
        {"[{'host': 'a.test', 'ports': [1], 'paths': ['/a#b']}]", "/0/paths/0", ""},
        {"[{'host': 'a.test', 'ports': [1], 'paths': ['/a/../b']}]", "/0/paths/0", ""},
        {"[{'host': 'a.test', 'ports': [1], 'paths': ['/..']}]", "/0/paths/0", ""},
        {"[{'host': 'a.test', 'ports': [1], 'paths': ['/a/..*']}]", "/0/paths/0", ""},
        {"[{'host': 'a.test', 'ports': [1], 'paths': ['/a/.*']}]", "/0/paths/0", ""},
        {"[{'host': 'a.test', 'ports': [1], 'paths': ['/a\\tb']}]", "/0/paths/0", ""},
        {"[{'host': 'a.test', 'ports': [1], 'paths': ['/a b']}]", "/0/paths/0", ""},
        {"[{'host': 'a.test', 'ports': [1], 'paths': ['/a', '/a']}]", "/0/paths/1", ""},
        /* addresses and cidrs (B18) */
        {"[{'host': 'a.test', 'ports': [1], 'addresses': []}]", "/0/addresses", ""},
        {"[{'host': 'a.test', 'ports': [1], 'addresses': ['10.9.0.5']}]", "/0/addresses/0", ""},
        {"[{'host': 'a.test', 'ports': [1], 'addresses': ['127.0.0.1/32']}]", "/0/addresses/0", ""},
        {"[{'host': 'a.test', 'ports': [1], 'addresses': ['127.0.0.0/8']}]", "/0/addresses/0", ""},
        {"[{'host': 'a.test', 'ports': [1], 'addresses': ['::1/128']}]", "/0/addresses/0", ""},
        {"[{'host': 'a.test', 'ports': [1], 'addresses': ['169.254.169.254/32']}]",
         "/0/addresses/0", ""},
        {"[{'host': 'a.test', 'ports': [1], 'addresses': ['::ffff:169.254.169.254/128']}]",
         "/0/addresses/0", ""},
        {"[{'host': 'a.test', 'ports': [1], 'addresses': ['64:ff9b::a9fe:a9fe/128']}]",
         "/0/addresses/0", ""},
        {"[{'host': 'a.test', 'ports': [1], 'addresses': ['100.100.100.200/32']}]",
         "/0/addresses/0", ""},
        {"[{'host': 'a.test', 'ports': [1], 'addresses': ['168.63.129.16/32']}]", "/0/addresses/0",
         ""},
        {"[{'host': 'a.test', 'ports': [1], 'addresses': ['fd00:ec2::254/128']}]", "/0/addresses/0",
         ""},
        {"[{'host': 'a.test', 'ports': [1], 'addresses': ['fe80::/10']}]", "/0/addresses/0", ""},
        {"[{'host': 'a.test', 'ports': [1], 'addresses': ['10.0.0.0/8', '0.0.0.0/1']}]",
         "/0/addresses/1", ""},
        {"[{'host': 'a.test', 'ports': [1], 'addresses': ['10.0.0.0/8', '10.0.0.0/8']}]",
         "/0/addresses/1", ""},
        {"[{'cidr': '10.9.1.0/28', 'ports': [1], 'addresses': ['10.9.1.0/28']}]", "/0/addresses",
         ""},
        {"[{'cidr': '0.0.0.0/0', 'ports': [1]}]", "/0/cidr", ""},
        {"[{'cidr': '::/0', 'ports': [1]}]", "/0/cidr", ""},
        {"[{'cidr': '10.9.1.1/28', 'ports': [1]}]", "/0/cidr", ""},
        {"[{'cidr': '127.0.0.0/8', 'ports': [1]}]", "/0/cidr", ""},
        {"[{'cidr': '', 'ports': [1]}]", "/0/cidr", ""},
        /* the second of two equal rules, though spelled otherwise */
        {"[{'host': 'A.test.', 'ports': [1, 2]}, {'host': 'a.test', 'ports': [2, 1]}]", "/1", ""},
};

static void test_refusals(void **state)
{
        (void)state;
        for (size_t i = 0; i < COUNT(refusals); i++) {
                struct bh_egress_rules rules = {.count = 77};
                struct bh_error error = {0};

                assert_refused(&refusals[i], decode(refusals[i].document, &rules, &error), &error);
                assert_int_equal(rules.count, 77);
        }
}

static void test_name_lengths(void **state)
{
        char name[BH_HOST_SIZE + 8], normalised[BH_HOST_SIZE];

        (void)state;
        for (size_t i = 0; i < sizeof(name); i++)
                name[i] = i % 64 == 63 ? '.' : 'a';
        name[253] = '\0'; /* 63.63.63.61: the longest name there is */
        assert_int_equal(bh_host_normalise(name, normalised), 0);
        assert_string_equal(normalised, name);
        name[253] = '.';
        name[254] = '\0';
        assert_int_equal(bh_host_normalise(name, normalised), 0);
        name[253] = 'a';
        assert_int_equal(bh_host_normalise(name, normalised), -1);
        name[254] = '.';
        name[255] = '\0';
        assert_int_equal(bh_host_normalise(name, normalised), -1);
}

static void test_canonical(void **state)
{
        struct bh_egress_rules rules =
                rules_of("[{'host': '*.PKG.example.com.', 'ports': [443, 80], 'methods': ['HEAD',"
                         " 'GET'], 'paths': ['/z', '/simple/*']}, {'cidr': 'FD12:0::/16',"
                         " 'ports': [6379]}, {'host': 'db.internal', 'ports': [5432],"
                         " 'addresses': ['10.9.0.6/32', '10.9.0.5/32']}, {'host': 'db',"
                         " 'ports': [1]}]");
        _cleanup_json_ json_t *encoded = bh_egress_rules_encode(&rules);

        (void)state;
        assert_json(
                encoded,
                "[{'addresses': ['10.9.0.5/32', '10.9.0.6/32'], 'host': 'db.internal',"
                " 'ports': [5432]}, {'cidr': 'fd12::/16', 'ports': [6379]}, {'host':"
                " '*.pkg.example.com', 'methods': ['GET', 'HEAD'], 'paths': ['/simple/*', '/z'],"
                " 'ports': [80, 443]}, {'host': 'db', 'ports': [1]}]");

        struct bh_egress_rules copy, again;
        bh_egress_rules_copy(&rules, &copy);
        bh_egress_rules_clear(&rules);
        _cleanup_json_ json_t *copied = bh_egress_rules_encode(&copy);
        assert_true(json_equal(copied, encoded));
        assert_int_equal(bh_egress_rules_decode(&BH_JSON_ROOT(encoded), &again, NULL), 0);
        _cleanup_json_ json_t *reencoded = bh_egress_rules_encode(&again);
        assert_true(json_equal(reencoded, encoded));
        bh_egress_rules_clear(&copy);
        bh_egress_rules_clear(&again);
}

static void test_match_host(void **state)
{
        static const struct {
                const char *host; /* as a workload spells it */
                uint16_t port;
                bool allowed;
        } cases[] = {
                {"a.example.test", 443, true},
                {"A.Example.TEST", 443, true},
                {"a.example.test.", 443, true},
                {"b.a.example.test", 443, true},
                {"evilexample.test", 443, false},
                {"example.test", 443, false},
                {"example.test.denied.test", 443, false},
                {"a.example.test.denied.test", 443, false},
                {"a.xn--exmple-cua.test", 443, false},
                {"a.example.test", 22, false},
                {"a.example.test", 8080, false},
                {"allowed.test", 443, true},
                {"ALLOWED.test.", 443, true},
                {"allowed.test", 80, true},
                {"allowed.test", 22, false},
                {"a.allowed.test", 443, false},
                {"other.test", 443, false},
                {"db", 5432, true},
                {"db.test", 5432, false},
        };
        struct bh_egress_rules rules =
                rules_of("[{'host': '*.example.test', 'ports': [443]}, {'host': 'allowed.test',"
                         " 'ports': [443]}, {'host': 'allowed.test', 'ports': [80]}, {'host': 'db',"
                         " 'ports': [5432]}, {'cidr': '10.9.1.0/28', 'ports': [22]}]");

        (void)state;
        for (size_t i = 0; i < COUNT(cases); i++) {
                char host[BH_HOST_SIZE];

                assert_int_equal(bh_host_normalise(cases[i].host, host), 0);
                if ((bh_egress_match_host(&rules, host, cases[i].port) != NULL) != cases[i].allowed)
                        fail_msg("%s:%d", cases[i].host, cases[i].port);
        }
        bh_egress_rules_clear(&rules);

        struct bh_egress_rules none = {0};
        assert_null(bh_egress_match_host(&none, "allowed.test", 443));
}

static void test_match_address(void **state)
{
        static const struct {
                const char *address;
                uint16_t port;
                bool allowed;
        } cases[] = {
                {"10.9.1.3", 6379, true},          {"10.9.1.3", 6380, false},
                {"10.9.1.16", 6379, false},        {"::ffff:10.9.1.3", 6379, true},
                {"64:ff9b::a09:103", 6379, false}, {"fd12::1", 6379, true},
                {"fd13::1", 6379, false},          {"127.0.0.1", 6379, false},
        };
        struct bh_egress_rules rules =
                rules_of("[{'cidr': '10.9.1.0/28', 'ports': [6379]}, {'cidr': 'fd12::/16', 'ports':"
                         " [6379]}, {'host': 'a.test', 'ports': [6380]}]");

        (void)state;
        for (size_t i = 0; i < COUNT(cases); i++) {
                union address address = address_of(cases[i].address, cases[i].port);

                if ((bh_egress_match_address(&rules, &address.any) != NULL) != cases[i].allowed)
                        fail_msg("%s:%d", cases[i].address, cases[i].port);
        }
        bh_egress_rules_clear(&rules);
}

/* B18: one private address for one name and port, and nothing beside it. */
static void test_allows_address(void **state)
{
        static const struct {
                size_t rule;
                const char *address;
                bool allowed;
        } cases[] = {
                {0, "10.9.0.5", true},         {0, "10.9.0.6", false},
                {0, "8.8.8.8", true},          {0, "::ffff:10.9.0.5", true},
                {0, "64:ff9b::a09:5", false},  {0, "127.0.0.1", false},
                {0, "169.254.169.254", false}, {0, "::ffff:169.254.169.254", false},
                {1, "10.9.0.5", false},        {1, "8.8.8.8", true},
                {1, "169.254.169.254", false}, {1, "fd00:ec2::254", false},
                {1, "fd12::1", false},         {2, "10.9.1.3", true},
                {2, "10.9.1.77", false},       {2, "8.8.8.8", false},
        };
        struct bh_egress_rules rules =
                rules_of("[{'host': 'db.test', 'ports': [5432], 'addresses': ['10.9.0.5/32']},"
                         " {'host': 'meta.test', 'ports': [80]}, {'cidr': '10.9.1.0/28', 'ports':"
                         " [1]}]");

        (void)state;
        for (size_t i = 0; i < COUNT(cases); i++) {
                union address address = address_of(cases[i].address, 5432);

                if (bh_egress_rule_allows_address(&rules.items[cases[i].rule], &address.any) !=
                    cases[i].allowed)
                        fail_msg("rule %zu, %s", cases[i].rule, cases[i].address);
        }
        bh_egress_rules_clear(&rules);
}

static void test_allows_request(void **state)
{
        static const struct {
                const char *method, *path;
                bool allowed;
        } cases[] = {
                {"GET", "/simple/x", true},         {"GET", "/simple/", true},
                {"GET", "/simple", false},          {"GET", "/simplex", false},
                {"HEAD", "/status", true},          {"HEAD", "/status/", false},
                {"POST", "/simple/x", false},       {"get", "/simple/x", false},
                {"GET", "/simple/../admin", false}, {"GET", "simple/x", false},
                {"GET", "/simple/..", false},       {"GET", "", false},
        };
        struct bh_egress_rules rules =
                rules_of("[{'host': 'a.test', 'ports': [1], 'methods': ['GET', 'HEAD'], 'paths':"
                         " ['/simple/*', '/status']}, {'host': 'b.test', 'ports': [1]}]");

        (void)state;
        for (size_t i = 0; i < COUNT(cases); i++)
                if (bh_egress_rule_allows_request(&rules.items[0], cases[i].method,
                                                  cases[i].path) != cases[i].allowed)
                        fail_msg("%s %s", cases[i].method, cases[i].path);
        assert_true(bh_egress_rule_allows_request(&rules.items[1], "BREW", "/anything"));
        bh_egress_rules_clear(&rules);
}

static void test_covers(void **state)
{
        static const uint16_t p443[] = {443}, p443_80[] = {80, 443}, p22[] = {22};
        static const struct {
                const char *pattern;
                const uint16_t *ports;
                size_t count;
                bool covered;
        } cases[] = {
                {"a.example.test", NULL, 0, true},  {"a.example.test", p443, 1, true},
                {"a.example.test", p22, 1, false},  {"a.example.test", p443_80, 2, false},
                {"*.example.test", NULL, 0, true},  {"*.b.example.test", p443, 1, true},
                {"*.test", NULL, 0, false},         {"*.evilexample.test", NULL, 0, false},
                {"example.test", NULL, 0, false},   {"allowed.test", p443_80, 2, true},
                {"*.allowed.test", NULL, 0, false}, {"other.test", NULL, 0, false},
        };
        struct bh_egress_rules rules =
                rules_of("[{'host': '*.example.test', 'ports': [443]}, {'host': 'allowed.test',"
                         " 'ports': [443]}, {'host': 'allowed.test', 'ports': [80]}, {'cidr':"
                         " '10.0.0.0/8', 'ports': [22]}]");

        (void)state;
        for (size_t i = 0; i < COUNT(cases); i++)
                if (bh_egress_covers(&rules, cases[i].pattern, cases[i].ports, cases[i].count) !=
                    cases[i].covered)
                        fail_msg("%s (case %zu)", cases[i].pattern, i);
        bh_egress_rules_clear(&rules);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_refusals),       cmocka_unit_test(test_name_lengths),
                cmocka_unit_test(test_canonical),      cmocka_unit_test(test_match_host),
                cmocka_unit_test(test_match_address),  cmocka_unit_test(test_allows_address),
                cmocka_unit_test(test_allows_request), cmocka_unit_test(test_covers),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
