/* Mount rules: paths, places that are never a mount's, nesting. */
#include "support.h"

#include "policy/mount.h"

#define MOUNT(source, target) "[{'source': '" source "', 'target': '" target "', 'mode': 'ro'}]"
#define TWO_MOUNTS                                                                       \
        "[{'source': '/srv/a', 'target': '/data2', 'mode': 'rw', 'justification': 'x'}," \
        " {'source': '/srv/a', 'target': '/data', 'mode': 'ro'}]"
#define DENIED "mount_not_allowed"

static const struct refusal refusals[] = {
        {"{}", "", ""},
        {"[{}]", "/0/source", ""},
        {"[{'source': '/srv/a', 'mode': 'ro'}]", "/0/target", ""},
        {"[{'source': '/srv/a', 'target': '/data'}]", "/0/mode", ""},
        {"[{'source': '/srv/a', 'target': '/data', 'mode': 'RW'}]", "/0/mode", ""},
        {"[{'source': '/srv/a', 'target': '/data', 'mode': 'ro', 'options': 'suid'}]", "/0/options",
         ""},
        {"[{'source': '/srv/a', 'target': '/data', 'mode': 'ro', 'justification': ''}]",
         "/0/justification", ""},
        {"[{'source': '/srv/a', 'target': '/data', 'mode': 'rw', 'justification': 'a\\nb'}]",
         "/0/justification", ""},
        {MOUNT("", "/data"), "/0/source", ""},
        {MOUNT("srv/a", "/data"), "/0/source", ""},
        {MOUNT("/srv/../etc", "/data"), "/0/source", ""},
        {MOUNT("/srv/./a", "/data"), "/0/source", ""},
        {MOUNT("/srv//a", "/data"), "/0/source", ""},
        {MOUNT("/srv/a/", "/data"), "/0/source", ""},
        {MOUNT("/srv/a\\u0001", "/data"), "/0/source", ""},
        {MOUNT("/srv/a", "data"), "/0/target", ""},
        {MOUNT("/srv/a", "/data/.."), "/0/target", ""},
        {MOUNT("/srv/a", "//etc"), "/0/target", ""},
        {MOUNT("/", "/data"), "/0/source", DENIED},
        {MOUNT("/proc", "/data"), "/0/source", DENIED},
        {MOUNT("/proc/1/root", "/data"), "/0/source", DENIED},
        {MOUNT("/sys/fs", "/data"), "/0/source", DENIED},
        {MOUNT("/dev/sda", "/data"), "/0/source", DENIED},
        {MOUNT("/srv/a", "/"), "/0/target", DENIED},
        {MOUNT("/srv/a", "/proc"), "/0/target", DENIED},
        {MOUNT("/srv/a", "/proc/self"), "/0/target", DENIED},
        {MOUNT("/srv/a", "/sys/x"), "/0/target", DENIED},
        {MOUNT("/srv/a", "/dev/x"), "/0/target", DENIED},
        {MOUNT("/srv/a", "/usr/local"), "/0/target", DENIED},
        {MOUNT("/srv/a", "/bin"), "/0/target", DENIED},
        {MOUNT("/srv/a", "/sbin/x"), "/0/target", DENIED},
        {MOUNT("/srv/a", "/lib"), "/0/target", DENIED},
        {MOUNT("/srv/a", "/lib64/x"), "/0/target", DENIED},
        {MOUNT("/srv/a", "/libx32"), "/0/target", DENIED},
        {MOUNT("/srv/a", "/etc/ssl"), "/0/target", DENIED},
        {MOUNT("/srv/a", "/workspace"), "/0/target", DENIED},
        {MOUNT("/srv/a", "/workspace/in"), "/0/target", DENIED},
        {MOUNT("/srv/a", "/tmp"), "/0/target", DENIED},
        {MOUNT("/srv/a", "/run/x"), "/0/target", DENIED},
        {MOUNT("/srv/a", "/var/run"), "/0/target", DENIED},
        {MOUNT("/srv/a", "/var/tmp/x"), "/0/target", DENIED},
        {MOUNT("/srv/a", "/var/empty"), "/0/target", DENIED},
        {"[{'source': '/srv/a', 'target': '/data', 'mode': 'ro'}, {'source': '/srv/b', 'target':"
         " '/data', 'mode': 'ro'}]",
         "/1/target", ""},
        {"[{'source': '/srv/a', 'target': '/data', 'mode': 'ro'}, {'source': '/srv/b', 'target':"
         " '/data/b', 'mode': 'ro'}]",
         "/1/target", ""},
        {"[{'source': '/srv/a', 'target': '/data/a/b', 'mode': 'ro'}, {'source': '/srv/b',"
         " 'target': '/data', 'mode': 'ro'}]",
         "/1/target", ""},
};

static void test_refusals(void **state)
{
        (void)state;
        for (size_t i = 0; i < COUNT(refusals); i++) {
                _cleanup_json_ json_t *document = parse(refusals[i].document);
                struct bh_mount_rules rules = {.count = 77};
                struct bh_error error = {0};

                assert_refused(&refusals[i],
                               bh_mount_rules_decode(&BH_JSON_ROOT(document), &rules, &error),
                               &error);
                assert_int_equal(rules.count, 77);
        }
}

/* Look-alikes of closed places, and neighbours, are fine. */
static void test_accepted(void **state)
{
        static const char *const good[] = {
                MOUNT("/srv/a", "/data"),         MOUNT("/srv/a", "/library"),
                MOUNT("/srv/a", "/usrlocal"),     MOUNT("/srv/a", "/workspace-2"),
                MOUNT("/srv/a", "/etcetera"),     MOUNT("/srv/a", "/opt/tools"),
                MOUNT("/procedures", "/data"),    MOUNT("/srv/..a", "/data"),
                MOUNT("/srv/a b", "/home/agent"), TWO_MOUNTS,
        };

        (void)state;
        for (size_t i = 0; i < COUNT(good); i++) {
                _cleanup_json_ json_t *document = parse(good[i]);
                struct bh_mount_rules rules, copy;
                struct bh_error error = {0};

                if (bh_mount_rules_decode(&BH_JSON_ROOT(document), &rules, &error) < 0)
                        fail_msg("%s: %s: %s", good[i], error.subject, error.message);
                _cleanup_json_ json_t *encoded = bh_mount_rules_encode(&rules);
                bh_mount_rules_copy(&rules, &copy);
                bh_mount_rules_clear(&rules);
                _cleanup_json_ json_t *copied = bh_mount_rules_encode(&copy);
                assert_true(json_equal(encoded, document));
                assert_true(json_equal(copied, document));
                bh_mount_rules_clear(&copy);
        }
}

static void test_path_is_below(void **state)
{
        (void)state;
        assert_true(bh_path_is_below("/srv", "/srv"));
        assert_true(bh_path_is_below("/srv/a", "/srv"));
        assert_true(bh_path_is_below("/srv/a", "/"));
        assert_false(bh_path_is_below("/srv-a", "/srv"));
        assert_false(bh_path_is_below("/sr", "/srv"));
        assert_false(bh_path_is_below("/", "/srv"));
        assert_false(bh_path_is_below("/workspace-x/f", "/workspace"));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_refusals),
                cmocka_unit_test(test_accepted),
                cmocka_unit_test(test_path_is_below),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
