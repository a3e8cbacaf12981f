/* Configuration: what is refused and where, what beats what, and addresses. */
#include "unit.h"

#include <unistd.h>

#include "broker/daemon/config.h"

static int decode(const char *text, struct bh_config *config, struct bh_error *error)
{
        _cleanup_json_ json_t *json = quoted(text);
        struct bh_json_at at = BH_JSON_ROOT(json);
        return bh_config_decode(&at, config, error);
}

static void wrong_members_are_named(void **state)
{
        (void)state;
        static const struct {
                const char *text, *pointer;
        } cases[] = {
                {"{'lisen': []}", "/lisen"},
                {"{'listen': '127.0.0.1:1'}", "/listen"},
                {"{'listen': []}", "/listen"},
                {"{'listen': ['host:80']}", "/listen/0"},
                {"{'listen': ['127.0.0.1:65536']}", "/listen/0"},
                {"{'state_dir': 'relative'}", "/state_dir"},
                {"{'tls': {'certificate': '/c'}}", "/tls/key"},
                {"{'tls': {'certificate': '/c', 'key': '/k', 'ca': '/x'}}", "/tls/ca"},
                {"{'egress': {'resolvers': ['resolver.test:53']}}", "/egress/resolvers/0"},
                {"{'egress': {'resolvers': ['unix:/x']}}", "/egress/resolvers/0"},
                {"{'egress': {'hosts': {'a b': ['10.0.0.1']}}}", "/egress/hosts/a b"},
                {"{'egress': {'hosts': {'a.test': ['10.0.0.0/8']}}}", "/egress/hosts/a.test/0"},
                {"{'drivers': {'vm': {'acceleration': 'fast'}}}", "/drivers/vm/acceleration"},
                {"{'drivers': {'container': {'runtimes': []}}}", "/drivers/container/runtimes"},
                {"{'secrets': {'vault': {'address': 'http://x'}}}", "/secrets/vault/address"},
                {"{'executions': {'spares': 1}}", "/executions/spares"},
                {"{'executions': {'concurrent': 0}}", "/executions/concurrent"},
                {"{'uid_base': 1000}", "/uid_base"},
        };
        for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
                struct bh_error error = {0};
                struct bh_config *config = calloc(1, sizeof(*config));
                assert_int_equal(decode(cases[i].text, config, &error), -1);
                assert_string_equal(error.subject, cases[i].pointer);
                bh_config_free(config);
        }
}

static int read_with(char *a, char *b, struct bh_config **ret, struct bh_error *error)
{
        char program[] = "bulkheadd";
        char *argv[] = {program, a, b, NULL};
        enum bh_config_result result = BH_CONFIG_RUN;
        return bh_config_read(b ? 3 : a ? 2 : 1, argv, ret, &result, error);
}

static void without_anything_the_documented_values_hold(void **state)
{
        (void)state;
        struct bh_config *config = NULL;
        assert_int_equal(read_with(NULL, NULL, &config, NULL), 0);
        assert_string_equal(config->state_dir, "/var/lib/bulkhead");
        assert_string_equal(config->run_dir, "/run/bulkhead");
        assert_int_equal(config->listen_count, 1);
        assert_string_equal(config->listen[0].text, "unix:/run/bulkhead/api.sock");
        assert_null(config->policy);
        bh_config_free(config);
}

static void flags_beat_the_file(void **state)
{
        (void)state;
        char path[] = "/tmp/bulkhead-config-XXXXXX";
        int fd = mkstemp(path);
        const char text[] = "{\"state_dir\": \"/a\", \"run_dir\": \"/b\", \"listen\": "
                            "[\"127.0.0.1:1\", \"unix:/x\"]}";
        assert_int_equal(write(fd, text, sizeof(text) - 1), sizeof(text) - 1);
        close(fd);
        char program[] = "bulkheadd", config_flag[] = "--config", state_flag[] = "--state-dir=/c";
        char *argv[] = {program, config_flag, path, state_flag, NULL};
        enum bh_config_result result = BH_CONFIG_RUN;
        struct bh_config *config = NULL;
        assert_int_equal(bh_config_read(4, argv, &config, &result, NULL), 0);
        assert_string_equal(config->state_dir, "/c");
        assert_string_equal(config->run_dir, "/b");
        assert_int_equal(config->listen_count, 2);
        bh_config_free(config);
        unlink(path);
}

static void wrong_usage_is_told(void **state)
{
        (void)state;
        char *const wrong[][2] = {
                {(char[]){"--nonsense"}, NULL},
                {(char[]){"stray"}, NULL},
                {(char[]){"--listen"}, NULL},
                {(char[]){"--listen"}, (char[]){"0.0.0.0:80"}},
                {(char[]){"--listen"}, (char[]){"[::]:80"}},
                {(char[]){"--listen"}, (char[]){"unix:relative"}},
                {(char[]){"--state-dir"}, (char[]){""}},
        };
        for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
                struct bh_config *config = NULL;
                struct bh_error error = {0};
                assert_int_equal(read_with(wrong[i][0], wrong[i][1], &config, &error), -1);
                assert_true(error.message[0]);
                assert_null(config);
        }
}

static void loopback_is_told_from_the_rest(void **state)
{
        (void)state;
        static const struct {
                const char *text;
                bool loopback;
        } cases[] = {
                {"unix:/x", true},       {"127.0.0.1:0", true},
                {"127.9.9.9:80", true},  {"[::1]:80", true},
                {"128.0.0.1:80", false}, {"0.0.0.0:80", false},
                {"[::]:80", false},      {"[::ffff:127.0.0.1]:80", false},
        };
        for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
                struct bh_address address = {0};
                assert_int_equal(bh_address_parse(cases[i].text, &address, NULL), 0);
                assert_int_equal(bh_address_is_loopback(&address), cases[i].loopback);
                bh_address_clear(&address);
        }
        static const char *const wrong[] = {
                "",       "127.0.0.1",    "127.0.0.1:",       "127.0.0.1:x",
                "::1:80", "127.0.0.1:-1", "127.0.0.1:080000", "[::1]",
                "unix:",  "unix:/",       "localhost:80"};
        for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
                struct bh_address address = {0};
                assert_int_equal(bh_address_parse(wrong[i], &address, NULL), -1);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(wrong_members_are_named),
                cmocka_unit_test(without_anything_the_documented_values_hold),
                cmocka_unit_test(flags_beat_the_file),
                cmocka_unit_test(wrong_usage_is_told),
                cmocka_unit_test(loopback_is_told_from_the_rest),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
