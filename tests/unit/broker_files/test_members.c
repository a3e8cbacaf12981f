/* broker/files/members: which members of an archive may be, each by itself and all together. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "broker/files/members.h"

#define MAX 1000

static int add(struct bh_members *members, mode_t mode, const char *name, const char *target,
               struct bh_error *error)
{
        struct bh_member member = {.name = name, .target = target, .mode = mode, .size = 10};

        member.hard_link = target && S_ISREG(mode);
        return bh_members_add(members, &member, error);
}

static void test_paths(void **state)
{
        static const char *const good[][2] = {
                {"a", "a"},
                {"./a", "a"},
                {"././/a/b", "a/b"},
                {"a/", "a"},
                {".", ""},
                {"./", ""},
                {"", ""},
                {"...", "..."},
                {"..a", "..a"},
                {"--help", "--help"},
                {"a\nb", "a\nb"},
        };
        static const char *const bad[] = {"/",    "/a",    "..",     "../a", "a/..",   "a/../b",
                                          "a//b", "a/./b", "./../a", "a/.",  ".//../x"};
        struct bh_error error;

        (void)state;
        for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
                _cleanup_free_ char *path = NULL;

                assert_int_equal(bh_member_path(good[i][0], &path, &error), 0);
                assert_string_equal(path, good[i][1]);
        }
        for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
                char *path = NULL;

                if (bh_member_path(bad[i], &path, &error) == 0)
                        fail_msg("\"%s\" is accepted", bad[i]);
                assert_string_equal(error.reason, "archive_not_allowed");
                assert_null(path);
        }
}

static void test_lengths(void **state)
{
        _cleanup_free_ char *component = bh_alloc(257), *deep = bh_alloc(4098), *path = NULL;

        (void)state;
        memset(component, 'x', 256);
        assert_int_equal(bh_member_path(component, &path, NULL), -1);
        component[255] = '\0';
        assert_int_equal(bh_member_path(component, &path, NULL), 0);
        for (size_t i = 0; i < 4097; i++)
                deep[i] = i % 2 ? '/' : 'x';
        assert_int_equal(bh_member_path(deep, &path, NULL), -1);
        deep[4095] = '\0';
        free(path);
        assert_int_equal(bh_member_path(deep, &path, NULL), 0);
}

static void test_link_targets(void **state)
{
        static const struct {
                const char *path, *target;
                int result;
        } cases[] = {
                {"l", "a", 0},
                {"l", "a/b", 0},
                {"l", ".", 0},
                {"l", "..", -1},
                {"l", "/a", -1},
                {"l", "", -1},
                {"d/l", "..", 0},
                {"d/l", "../a/b", 0},
                {"d/l", "../..", -1},
                {"d/e/l", "../../a", 0},
                {"l", "a/..", -1},
                {"d/l", "a/../..", -1},
                {"d/e/l", "./.././../a", 0},
                {"d/l", "a/../b", -1},
                {"d/l", "..//..", -1},
                {"l", "...", 0},
                {"l", "a//b/", 0},
        };

        (void)state;
        for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
                _cleanup_(bh_members_cleanup) struct bh_members *members = bh_members_new(MAX);
                struct bh_error error = {.reason = ""};

                if (add(members, S_IFLNK | 0777, cases[i].path, cases[i].target, &error) !=
                    cases[i].result)
                        fail_msg("%s -> %s", cases[i].path, cases[i].target);
        }
}

static void test_kinds_and_bits(void **state)
{
        static const mode_t bad[] = {
                S_IFCHR | 0644,  S_IFBLK | 0644,  S_IFIFO | 0644,  S_IFSOCK | 0644,
                S_IFREG | 04755, S_IFREG | 02755, S_IFDIR | 02755, 0644};
        _cleanup_(bh_members_cleanup) struct bh_members *members = bh_members_new(MAX);

        (void)state;
        for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
                struct bh_error error;

                assert_int_equal(add(members, bad[i], "x", NULL, &error), -1);
                assert_string_equal(error.reason, "archive_not_allowed");
        }
        assert_int_equal(add(members, S_IFDIR | 01777, "t", NULL, NULL), 0);
        assert_int_equal(add(members, S_IFREG | 0644, "./", NULL, NULL), -1);
        assert_int_equal(add(members, S_IFDIR | 0755, "./", NULL, NULL), 0);
        assert_int_equal(bh_members_count(members), 1);
}

static void test_hard_links(void **state)
{
        _cleanup_(bh_members_cleanup) struct bh_members *members = bh_members_new(MAX);

        (void)state;
        assert_int_equal(add(members, S_IFREG | 0644, "h", "f", NULL), -1);
        assert_int_equal(add(members, S_IFREG | 0644, "f", NULL, NULL), 0);
        assert_int_equal(add(members, S_IFREG | 0644, "h", "./f", NULL), 0);
        assert_int_equal(add(members, S_IFREG | 0644, "i", "h", NULL), 0);
        assert_int_equal(add(members, S_IFDIR | 0755, "d", NULL, NULL), 0);
        assert_int_equal(add(members, S_IFREG | 0644, "j", "d", NULL), -1);
        assert_int_equal(add(members, S_IFREG | 0644, "j", "../f", NULL), -1);
        assert_int_equal(add(members, S_IFREG | 0644, "j", "/f", NULL), -1);
        assert_int_equal(add(members, S_IFLNK | 0777, "s", "f", NULL), 0);
        assert_int_equal(add(members, S_IFREG | 0644, "j", "s", NULL), -1);
        assert_int_equal(bh_members_finish(members, NULL), 0);
}

static void check_pair(mode_t first, const char *a, mode_t second, const char *b, int result)
{
        for (int order = 0; order < 2; order++) {
                _cleanup_(bh_members_cleanup) struct bh_members *members = bh_members_new(MAX);
                const char *link_a = S_ISLNK(first) ? "t" : NULL;
                const char *link_b = S_ISLNK(second) ? "t" : NULL;

                assert_int_equal(add(members, order ? second : first, order ? b : a,
                                     order ? link_b : link_a, NULL),
                                 0);
                assert_int_equal(add(members, order ? first : second, order ? a : b,
                                     order ? link_a : link_b, NULL),
                                 0);
                if (bh_members_finish(members, NULL) != result)
                        fail_msg("%s and %s", a, b);
        }
}

static void test_what_leads_there(void **state)
{
        (void)state;
        check_pair(S_IFDIR, "d", S_IFREG, "d/f", 0);
        check_pair(S_IFLNK, "d", S_IFREG, "d/f", -1);
        check_pair(S_IFREG, "d", S_IFREG, "d/e/f", -1);
        check_pair(S_IFREG, "d", S_IFREG, "d.x/f", 0);
        check_pair(S_IFREG, "f", S_IFREG, "f", -1);
        check_pair(S_IFREG, "f", S_IFLNK, "f", -1);
        check_pair(S_IFDIR, "d", S_IFLNK, "d", -1);
        check_pair(S_IFDIR, "d", S_IFDIR, "d/", 0);
}

static void test_sizes(void **state)
{
        _cleanup_(bh_members_cleanup) struct bh_members *members = bh_members_new(25);
        struct bh_member huge = {.name = "h", .mode = S_IFREG, .size = INT64_MAX};
        struct bh_error error;

        (void)state;
        assert_int_equal(bh_members_add(members, &huge, &error), -1);
        assert_string_equal(error.reason, "workspace_full");
        huge.size = -1;
        assert_int_equal(bh_members_add(members, &huge, NULL), -1);
        assert_int_equal(add(members, S_IFREG, "a", NULL, NULL), 0);
        assert_int_equal(add(members, S_IFREG, "b", NULL, NULL), 0);
        assert_int_equal(add(members, S_IFREG, "c", NULL, &error), -1);
        assert_string_equal(error.reason, "workspace_full");
        assert_int_equal(bh_members_room(members, 4096), 8192);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_paths),        cmocka_unit_test(test_lengths),
                cmocka_unit_test(test_link_targets), cmocka_unit_test(test_kinds_and_bits),
                cmocka_unit_test(test_hard_links),   cmocka_unit_test(test_what_leads_there),
                cmocka_unit_test(test_sizes),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
