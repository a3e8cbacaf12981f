/* Names, labels and the environment. */
#include "support.h"

#include "policy/name.h"

static void test_names(void **state)
{
        static const char *const good[] = {
                "a",
                "0",
                "a1",
                "a.b_c-d",
                "0-",
                "a..b",
                "abcdefghijklmnopqrstuvwxyz0123456789abcdefghijklmnopqrstuvwxyz0",
        };
        static const char *const bad[] = {
                "",
                ".",
                "..",
                "-rf",
                "_a",
                "A",
                "a/b",
                "a b",
                "a\n",
                "a%00",
                "a\";drop",
                "]]>",
                "..%2f",
                "/tmp/x",
                "\xc3\xa4",
                "a\x7f",
                "abcdefghijklmnopqrstuvwxyz0123456789abcdefghijklmnopqrstuvwxyz01",
        };

        (void)state;
        for (size_t i = 0; i < COUNT(good); i++)
                if (!bh_name_valid(good[i]))
                        fail_msg("refused: %s", good[i]);
        for (size_t i = 0; i < COUNT(bad); i++)
                if (bh_name_valid(bad[i]))
                        fail_msg("accepted: %s", bad[i]);
}

static const struct refusal environment_refusals[] = {
        {"null", "", ""},
        {"[]", "", ""},
        {"'A=1'", "", ""},
        {"{'A': 1}", "/A", ""},
        {"{'A': null}", "/A", ""},
        {"{'': 'x'}", "/", ""},
        {"{'A=B': 'x'}", "/A=B", ""},
        {"{'A B': 'x'}", "/A B", ""},
        {"{'A\\tB': 'x'}", "/A\tB", ""},
        {"{'A\\n': 'x'}", "/A\n", ""},
        {"{'http_proxy': 'x'}", "/http_proxy", ""},
        {"{'HTTP_PROXY': 'x'}", "/HTTP_PROXY", ""},
        {"{'Https_Proxy': 'x'}", "/Https_Proxy", ""},
        {"{'all_proxy': 'x'}", "/all_proxy", ""},
        {"{'NO_PROXY': 'x'}", "/NO_PROXY", ""},
        {"{'no_proxy': 'x'}", "/no_proxy", ""},
        {"{'SSL_CERT_FILE': 'x'}", "/SSL_CERT_FILE", ""},
        {"{'SSL_CERT_DIR': 'x'}", "/SSL_CERT_DIR", ""},
        {"{'REQUESTS_CA_BUNDLE': 'x'}", "/REQUESTS_CA_BUNDLE", ""},
        {"{'CURL_CA_BUNDLE': 'x'}", "/CURL_CA_BUNDLE", ""},
        {"{'GIT_SSL_CAINFO': 'x'}", "/GIT_SSL_CAINFO", ""},
        {"{'NODE_EXTRA_CA_CERTS': 'x'}", "/NODE_EXTRA_CA_CERTS", ""},
        {"{'CARGO_HTTP_CAINFO': 'x'}", "/CARGO_HTTP_CAINFO", ""},
        {"{'npm_config_cafile': 'x'}", "/npm_config_cafile", ""},
        {"{'LD_PRELOAD': 'x'}", "/LD_PRELOAD", ""},
        {"{'LD_': 'x'}", "/LD_", ""},
        {"{'BULKHEAD_SECRET_K': 'x'}", "/BULKHEAD_SECRET_K", ""},
        {"{'OK': 'x', 'BULKHEAD_': 'x'}", "/BULKHEAD_", ""},
};

static void test_environment(void **state)
{
        static const char good[] = "{'PATH': '/bin', 'HOME': '', 'LDFLAGS': '-lm', 'MY_PROXY_URL':"
                                   " 'a=b c', 'a.b-c': 'caf\\u00e9\\n', 'BULKHEAD': '1'}";

        (void)state;
        for (size_t i = 0; i < COUNT(environment_refusals); i++) {
                _cleanup_json_ json_t *document = parse(environment_refusals[i].document);
                struct bh_error error = {0};
                json_t *copy = NULL;

                assert_refused(&environment_refusals[i],
                               bh_environment_decode(&BH_JSON_ROOT(document), &copy, &error),
                               &error);
                assert_null(copy);
        }
        _cleanup_json_ json_t *document = parse(good), *copy = NULL;
        assert_int_equal(bh_environment_decode(&BH_JSON_ROOT(document), &copy, NULL), 0);
        assert_true(json_equal(document, copy));
        assert_ptr_not_equal(document, copy);
}

/* One variable too big, and many that are too big together. */
static void test_environment_size(void **state)
{
        size_t size = 128 << 10;
        _cleanup_free_ char *value = bh_alloc(size + 2);
        json_t *copy = NULL;

        (void)state;
        memset(value, 'x', size + 1);
        _cleanup_json_ json_t *one = json_pack("{s:s}", "A", value);
        assert_int_equal(bh_environment_decode(&BH_JSON_ROOT(one), &copy, NULL), -1);
        value[size / 2] = '\0';
        _cleanup_json_ json_t *two = json_pack("{s:s, s:s}", "A", value, "B", value);
        assert_int_equal(bh_environment_decode(&BH_JSON_ROOT(two), &copy, NULL), -1);
        value[size / 2 - 4] = '\0';
        _cleanup_json_ json_t *fits = json_pack("{s:s, s:s}", "A", value, "B", value);
        assert_int_equal(bh_environment_decode(&BH_JSON_ROOT(fits), &copy, NULL), 0);
        json_decref(copy);
}

static void test_labels(void **state)
{
        static const char *const bad[] = {
                "[]",
                "{'': 'x'}",
                "{'a b': 'x'}",
                "{'a\\u00e9': 'x'}",
                "{'a': null}",
                "{'a': 7}",
                "{'a1234567890123456789012345678901234567890123456789012345678901234': 'x'}",
        };
        _cleanup_json_ json_t *good = parse("{'run': '42', 'team/a.b_c-D': ''}"), *copy = NULL;
        _cleanup_json_ json_t *many = json_object();
        json_t *none = NULL;

        (void)state;
        assert_int_equal(bh_labels_decode(&BH_JSON_ROOT(good), &copy, NULL), 0);
        assert_true(json_equal(good, copy));
        for (size_t i = 0; i < COUNT(bad); i++) {
                _cleanup_json_ json_t *document = parse(bad[i]);

                if (bh_labels_decode(&BH_JSON_ROOT(document), &none, NULL) == 0)
                        fail_msg("accepted: %s", bad[i]);
        }
        for (int i = 0; i < 33; i++) {
                _cleanup_free_ char *key = bh_format("k%d", i);

                json_object_set_new(many, key, json_string(""));
        }
        assert_int_equal(bh_labels_decode(&BH_JSON_ROOT(many), &none, NULL), -1);
        json_object_del(many, "k0");
        assert_int_equal(bh_labels_decode(&BH_JSON_ROOT(many), &none, NULL), 0);
        json_decref(none);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_names),
                cmocka_unit_test(test_environment),
                cmocka_unit_test(test_environment_size),
                cmocka_unit_test(test_labels),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
