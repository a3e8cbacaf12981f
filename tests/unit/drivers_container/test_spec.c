/* drivers/container/spec*.c: whole bundles against their reviewed copies in
 * tests/golden/drivers/container. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "drivers/container/spec.h"
#include "drivers/kernel/seccomp_list.h"
#include "policy/strings.h"

#define GOLDEN BH_SOURCE_DIR "/tests/golden/drivers/container"

static struct bh_plan *make_plan(enum bh_tier tier)
{
        static const char *const argv[] = {"python3", "-c", "print('hi')"};
        static const char *const environment[] = {"PATH=/usr/bin:/bin", "HOME=/workspace"};
        struct bh_plan *plan = bh_alloc(sizeof(*plan));

        plan->required_tier = plan->tier = tier;
        plan->driver = bh_strdup("container");
        plan->image = bh_strdup("host");
        plan->argv = bh_strings_copy((char *const *)argv, 3);
        plan->environment = bh_strings_copy((char *const *)environment, 2);
        plan->cwd = bh_strdup("/workspace/sub");
        plan->inside_uid = plan->inside_gid = 1000;
        plan->limits.value[BH_LIMIT_PIDS] = 64;
        plan->workspace_writable = true;
        return plan;
}

static void check(const char *name, const struct bh_plan *plan)
{
        _cleanup_free_ char *path = bh_format("%s/%s.json", GOLDEN, name);
        _cleanup_json_ json_t *spec = bh_spec_make(plan), *golden = NULL;

        assert_non_null(spec);
        if (getenv("BULKHEAD_GOLDEN_UPDATE"))
                assert_int_equal(json_dump_file(spec, path, JSON_INDENT(2)), 0);
        golden = json_load_file(path, JSON_REJECT_DUPLICATES, NULL);
        assert_non_null(golden);
        if (!json_equal(golden, spec)) {
                _cleanup_free_ char *text = json_dumps(spec, JSON_INDENT(2));

                fail_msg("%s: BULKHEAD_GOLDEN_UPDATE=1 takes what is made now:\n%s", path, text);
        }
}

static void test_container(void **state)
{
        _cleanup_(bh_plan_cleanup) struct bh_plan *plan = make_plan(BH_TIER_CONTAINER);

        (void)state;
        check("container", plan);
}

static void test_container_read_only(void **state)
{
        _cleanup_(bh_plan_cleanup) struct bh_plan *plan = make_plan(BH_TIER_CONTAINER);

        (void)state;
        plan->workspace_kind = BH_WORKSPACE_NAMED;
        plan->workspace_writable = false;
        check("container-read-only", plan);
}

static void test_userkernel(void **state)
{
        _cleanup_(bh_plan_cleanup) struct bh_plan *plan = make_plan(BH_TIER_USERKERNEL);

        (void)state;
        check("userkernel", plan);
}

/* What comes from a request is words of the process, and nothing else of the bundle. */
static void test_request_reaches_words_only(void **state)
{
        _cleanup_(bh_plan_cleanup) struct bh_plan *plain = make_plan(BH_TIER_CONTAINER);
        _cleanup_(bh_plan_cleanup) struct bh_plan *odd = make_plan(BH_TIER_CONTAINER);
        _cleanup_json_ json_t *one = bh_spec_make(plain), *other = NULL;

        (void)state;
        free(odd->argv[0]);
        odd->argv[0] = bh_strdup("\"},\"root\":{\"path\":\"/\"}");
        free(odd->cwd);
        odd->cwd = bh_strdup("/proc/self/fd/7");
        other = bh_spec_make(odd);
        assert_false(json_equal(one, other));
        json_object_del(json_object_get(one, "process"), "args");
        json_object_del(json_object_get(other, "process"), "args");
        assert_true(json_equal(one, other));
}

/* Every call of the list is in the profile, and no other. */
static void test_profile_is_the_list(void **state)
{
        _cleanup_json_ json_t *profile = bh_spec_seccomp();
        json_t *rule, *name, *rules = json_object_get(profile, "syscalls");
        _cleanup_json_ json_t *allowed = json_object();
        size_t i, k, count = 0;

        (void)state;
        assert_string_equal(json_string_value(json_object_get(profile, "defaultAction")),
                            "SCMP_ACT_ERRNO");
        json_array_foreach (rules, i, rule) {
                if (strcmp(json_string_value(json_object_get(rule, "action")), "SCMP_ACT_ALLOW") !=
                    0)
                        continue;
                json_array_foreach (json_object_get(rule, "names"), k, name)
                        json_object_set_new(allowed, json_string_value(name), json_true());
        }
        for (const struct bh_seccomp_entry *entry = bh_seccomp_list; entry->name; entry++, count++)
                assert_non_null(json_object_get(allowed, entry->name));
        assert_int_equal(json_object_size(allowed), count);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_container),
                cmocka_unit_test(test_container_read_only),
                cmocka_unit_test(test_userkernel),
                cmocka_unit_test(test_request_reaches_words_only),
                cmocka_unit_test(test_profile_is_the_list),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
