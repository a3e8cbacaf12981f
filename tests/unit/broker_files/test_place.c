/* broker/files/place: nothing beneath a root leads out of it, on any file system. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "broker/files/place.h"

static char directory[] = "/tmp/bulkhead-place-XXXXXX";
static struct bh_place place = {-1, -1};

static int setup(void **state)
{
        (void)state;
        if (!mkdtemp(directory))
                return -1;
        place.root = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        place.descriptors = open("/proc/self/fd", O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (mkdirat(place.root, "d", 0755) < 0 || symlinkat("/etc", place.root, "out") < 0 ||
            symlinkat("d", place.root, "in") < 0 || mkfifoat(place.root, "fifo", 0600) < 0)
                return -1;
        return 0;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
        (void)st;
        (void)type;
        (void)at;
        return remove(path);
}

static int teardown(void **state)
{
        (void)state;
        place.root = bh_close(place.root);
        place.descriptors = bh_close(place.descriptors);
        return nftw(directory, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* Names an unnamed file with these bytes. */
static int put(const char *path, const char *text, struct bh_error *error)
{
        _cleanup_close_ int fd = bh_place_unnamed(&place, error);

        assert_true(fd >= 0);
        assert_int_equal(bh_write_full(fd, text, strlen(text)), 0);
        return bh_place_name(&place, fd, path, error);
}

static void check(const char *path, const char *text)
{
        _cleanup_free_ char *data = NULL;
        size_t size;

        assert_int_equal(bh_read_file(place.root, path, 100, &data, &size, NULL), 0);
        assert_string_equal(data, text);
}

static void test_files_come_and_are_replaced(void **state)
{
        (void)state;
        assert_int_equal(put("x/y/f", "one", NULL), 0);
        check("x/y/f", "one");
        assert_int_equal(put("x/y/f", "two", NULL), 0);
        check("x/y/f", "two");
        assert_int_equal(bh_place_link(&place, "x/y/f", "x/g", NULL), 0);
        /* Both are names of one file already. */
        assert_int_equal(bh_place_link(&place, "x/y/f", "x/g", NULL), 0);
        check("x/g", "two");
        assert_int_equal(bh_place_symlink(&place, "y/f", "x/g", NULL), 0);
        assert_int_equal(put("x/g", "three", NULL), 0);
        check("x/g", "three");
        check("x/y/f", "two");
        assert_int_equal(bh_place_open(place.root, "x/.bulkhead-", O_PATH), -1);
}

static void test_links_lead_nowhere(void **state)
{
        static const char *const paths[] = {"out/passwd", "in/f", "out/a/b", "../x", "d/../../x"};
        struct bh_error error;
        struct stat st;

        (void)state;
        for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
                error.reason[0] = '\0';
                if (put(paths[i], "x", &error) == 0)
                        fail_msg("%s is written", paths[i]);
                assert_string_equal(error.reason, "path_not_allowed");
                assert_int_equal(bh_place_open(place.root, paths[i], O_RDONLY), -1);
        }
        assert_int_equal(bh_place_directory(&place, "in", 0755, &error), -1);
        assert_int_equal(bh_place_check_file(&place, "out", &st, &error), -1);
        assert_string_equal(error.reason, "path_not_allowed");
}

static void test_other_kinds(void **state)
{
        struct bh_error error;
        struct stat st;

        (void)state;
        assert_int_equal(bh_place_check_file(&place, "fifo", &st, &error), -1);
        assert_string_equal(error.reason, "not_a_file");
        assert_int_equal(bh_place_check_file(&place, "d", &st, &error), -1);
        assert_int_equal(bh_place_check_file(&place, "none/f", &st, &error), 0);
        assert_int_equal(put("d", "x", &error), -1);
        assert_string_equal(error.reason, "not_a_file");
        assert_int_equal(bh_place_directory(&place, "d/e", 04755, NULL), 0);
        assert_int_equal(fstatat(place.root, "d/e", &st, 0), 0);
        assert_int_equal(st.st_mode & 07777, 0755);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_files_come_and_are_replaced),
                cmocka_unit_test(test_links_lead_nowhere),
                cmocka_unit_test(test_other_kinds),
        };

        return cmocka_run_group_tests(tests, setup, teardown);
}
