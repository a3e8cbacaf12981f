/* broker/files/archive_check: what libarchive makes of tar bytes, and what is refused there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>
#include <sys/stat.h>

#include "broker/files/archive_check.h"

#define SIZE ((size_t)64 << 10)

static char bytes[SIZE];

/* A pax archive of one file of ten bytes. Returns its size. */
static size_t make(const char *name, mode_t mode)
{
        struct archive *archive = archive_write_new();
        struct archive_entry *entry = archive_entry_new();
        size_t used = 0;

        archive_write_set_format_pax_restricted(archive);
        archive_write_set_bytes_in_last_block(archive, 1);
        assert_int_equal(archive_write_open_memory(archive, bytes, SIZE, &used), ARCHIVE_OK);
        archive_entry_set_pathname(entry, name);
        archive_entry_set_mode(entry, mode);
        archive_entry_set_size(entry, 10);
        assert_int_equal(archive_write_header(archive, entry), ARCHIVE_OK);
        assert_int_equal(archive_write_data(archive, "0123456789", 10), 10);
        archive_entry_free(entry);
        assert_int_equal(archive_write_close(archive), ARCHIVE_OK);
        archive_write_free(archive);
        return used;
}

static int check(size_t size, size_t *ret_count, struct bh_error *error)
{
        _cleanup_(bh_archive_reader_cleanup) struct archive *archive = bh_archive_reader();
        _cleanup_(bh_members_cleanup) struct bh_members *members = bh_members_new(1000);
        int result;

        if (archive_read_open_memory(archive, bytes, size) != ARCHIVE_OK)
                return -1;
        result = bh_archive_check(archive, members, error);
        *ret_count = bh_members_count(members);
        return result;
}

static void test_a_file(void **state)
{
        size_t count, size = make("d/f", S_IFREG | 0644);

        (void)state;
        assert_int_equal(check(size, &count, NULL), 0);
        assert_int_equal(count, 1);
}

static void test_the_rules_are_asked(void **state)
{
        size_t count, size = make("../f", S_IFREG | 0644);
        struct bh_error error;

        (void)state;
        assert_int_equal(check(size, &count, &error), -1);
        assert_string_equal(error.reason, "archive_not_allowed");
        size = make("f", S_IFREG | 04755);
        assert_int_equal(check(size, &count, &error), -1);
}

static void test_cut_short(void **state)
{
        size_t count, size = make("f", S_IFREG | 0644);
        struct bh_error error;

        (void)state;
        assert_true(size > 1024);
        assert_int_equal(check(515, &count, &error), -1);
        assert_string_equal(error.reason, "archive_not_allowed");
        bytes[150] ^= 1; /* the header's checksum */
        assert_int_equal(check(size, &count, &error), -1);
}

static void test_no_tar(void **state)
{
        size_t count;

        (void)state;
        assert_int_equal(check(0, &count, NULL), 0);
        memcpy(bytes, "\x1f\x8b\x08", 3);
        assert_int_equal(check(SIZE, &count, NULL), -1);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_a_file),
                cmocka_unit_test(test_the_rules_are_asked),
                cmocka_unit_test(test_cut_short),
                cmocka_unit_test(test_no_tar),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
