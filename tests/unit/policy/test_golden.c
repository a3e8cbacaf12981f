/* Whole decisions, with their plans and digests, as they stand in tests/golden/policy. */
#include "fixture.h"

#include <dirent.h>

#define GOLDEN_FOLDER BH_SOURCE_DIR "/tests/golden/policy"

/* A golden file's host: a tier that is named is available. */
static void golden_host(const json_t *document, struct bh_host *host)
{
        const char *name;
        json_t *entry, *value;
        size_t index;

        json_object_foreach ((json_t *)document, name, entry) {
                struct bh_json_at at = {.value = json_string(name)};
                enum bh_tier tier;

                assert_int_equal(bh_tier_decode(&at, &tier, NULL), 0);
                json_decref((json_t *)at.value);
                json_array_foreach (json_object_get(entry, "missing"), index, value)
                        bh_tier_host_add_missing(&host->tier[tier],
                                                 json_string_value(json_object_get(value, "what")),
                                                 json_string_value(json_object_get(value, "fix")));
                if (!json_object_get(entry, "driver"))
                        continue;
                host_tier_set(&host->tier[tier],
                              json_string_value(json_object_get(entry, "driver")), 0, 0);
                for (int i = 0; i < BH_FEATURE_COUNT; i++)
                        json_array_foreach (json_object_get(entry, "features"), index, value)
                                if (strcmp(json_string_value(value),
                                           bh_feature_name((enum bh_feature)i)) == 0)
                                        host->tier[tier].features |= UINT32_C(1) << i;
                for (int i = 0; i < BH_LIMIT_COUNT; i++)
                        json_array_foreach (json_object_get(entry, "unenforceable_limits"), index,
                                            value)
                                if (strcmp(json_string_value(value),
                                           bh_limit_name((enum bh_limit)i)) == 0)
                                        host->tier[tier].unenforceable_limits |= UINT32_C(1) << i;
        }
}

static void golden_decide(const json_t *document, struct fixture *fixture)
{
        _cleanup_free_ char *policy = bh_json_text(json_object_get(document, "policy"));
        _cleanup_free_ char *set = bh_json_text(json_object_get(document, "capabilities"));
        _cleanup_free_ char *request = bh_json_text(json_object_get(document, "request"));

        golden_host(json_object_get(document, "host"), &fixture->host);
        decide(fixture, policy, set, request);
}

static void check_golden(const char *path)
{
        bool update = getenv("BULKHEAD_GOLDEN_UPDATE") != NULL;
        _cleanup_json_ json_t *document = json_load_file(path, JSON_REJECT_DUPLICATES, NULL);
        struct fixture fixture = {0};

        if (!document)
                fail_msg("no JSON: %s", path);
        golden_decide(document, &fixture);
        _cleanup_json_ json_t *decision = bh_decision_encode(&fixture.decision);
        _cleanup_json_ json_t *digest = json_null();
        if (fixture.decision.plan) {
                char text[BH_DIGEST_TEXT_SIZE];

                bh_plan_digest(fixture.decision.plan, text);
                digest = json_string(text);
        }
        if (update) {
                json_object_set(document, "decision", decision);
                json_object_set(document, "plan_digest", digest);
                assert_int_equal(json_dump_file(document, path, JSON_INDENT(2)), 0);
        }
        if (!json_equal(json_object_get(document, "decision"), decision)) {
                _cleanup_free_ char *text = json_dumps(decision, JSON_INDENT(2));

                fail_msg("%s: BULKHEAD_GOLDEN_UPDATE=1 takes what is decided now:\n%s", path, text);
        }
        assert_true(json_equal(json_object_get(document, "plan_digest"), digest));
        fixture_clear(&fixture);
}

static void test_golden(void **state)
{
        DIR *folder = opendir(GOLDEN_FOLDER);
        struct dirent *entry;
        size_t count = 0;

        (void)state;
        assert_non_null(folder);
        while ((entry = readdir(folder))) {
                if (!strstr(entry->d_name, ".json"))
                        continue;
                _cleanup_free_ char *path = bh_format("%s/%s", GOLDEN_FOLDER, entry->d_name);
                check_golden(path);
                count++;
        }
        closedir(folder);
        assert_true(count >= 8);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_golden),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
