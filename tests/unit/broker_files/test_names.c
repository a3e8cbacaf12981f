/* broker/files/names: sorted, bounded, from any place on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "broker/files/names.h"

#define COUNT 40

static char directory[] = "/tmp/bulkhead-names-XXXXXX";
static int fd = -1;

static int setup(void **state)
{
        (void)state;
        if (!mkdtemp(directory))
                return -1;
        fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        for (int i = 0; i < COUNT; i++) {
                char name[16];

                (void)snprintf(name, sizeof(name), "n%02d", i * 7 % COUNT);
                bh_close(openat(fd, name, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
        }
        return fd < 0 ? -1 : 0;
}

static int teardown(void **state)
{
        (void)state;
        for (int i = 0; i < COUNT; i++) {
                char name[16];

                (void)snprintf(name, sizeof(name), "n%02d", i);
                (void)unlinkat(fd, name, 0);
        }
        fd = bh_close(fd);
        return rmdir(directory);
}

static void check(const char *from, size_t max, size_t count, int first)
{
        _cleanup_(bh_names_clear) struct bh_names names = {.items = NULL};

        assert_int_equal(bh_names_read(fd, from, max, &names), 0);
        assert_int_equal(names.count, count);
        for (size_t i = 0; i < count; i++) {
                char name[16];

                (void)snprintf(name, sizeof(name), "n%02d", first + (int)i);
                assert_string_equal(names.items[i], name);
        }
}

static void test_pages(void **state)
{
        (void)state;
        check("", 100, COUNT, 0);
        check("", 1, 1, 0);
        check("n10", 5, 5, 10);
        check("n10x", 5, 5, 11);
        check("n39", 5, 1, 39);
        check("o", 5, 0, 0);
}

static void test_no_directory(void **state)
{
        _cleanup_close_ int file = openat(fd, "n00", O_RDONLY | O_CLOEXEC);
        struct bh_names names = {.items = NULL};

        (void)state;
        assert_int_equal(bh_names_read(file, "", 5, &names), -ENOTDIR);
        assert_null(names.items);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_pages),
                cmocka_unit_test(test_no_directory),
        };

        return cmocka_run_group_tests(tests, setup, teardown);
}
