/* drivers/kernel/readback.c: the mount table and status, as text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "drivers/kernel/readback.h"

static const char table_text[] =
        "22 1 0:41 / / ro,nosuid,nodev shared:1 master:2 - tmpfs none ro,size=16384k\n"
        "23 22 254:0 /usr /usr ro,nosuid - ext4 /dev/vda rw,discard\n"
        "24 22 0:42 /a\\040b /odd\\011name\\134 rw - tmpfs tmpfs rw\n"
        "25 22 0:43 / /usr rw,nosuid,nodev,idmapped - ext4 /dev/loop0 rw\n";

static void test_mount_table(void **state)
{
        struct bh_mount_table table;
        struct bh_error error;

        (void)state;
        assert_int_equal(bh_mount_table_parse_take(bh_strdup(table_text), &table, &error), 0);
        assert_int_equal(table.count, 4);
        assert_string_equal(table.entries[0].device, "0:41");
        assert_string_equal(table.entries[0].target, "/");
        assert_string_equal(table.entries[0].type, "tmpfs");
        assert_string_equal(table.entries[0].super_options, "ro,size=16384k");
        assert_true(table.entries[0].propagates);
        assert_false(table.entries[1].propagates);
        assert_string_equal(table.entries[2].root, "/a b");
        assert_string_equal(table.entries[2].target, "/odd\tname\\");
        bh_mount_table_clear(&table);
        assert_int_equal(table.count, 0);
}

static void test_last_mount_is_the_one_seen(void **state)
{
        struct bh_mount_table table;
        struct bh_error error;

        (void)state;
        assert_int_equal(bh_mount_table_parse_take(bh_strdup(table_text), &table, &error), 0);
        assert_string_equal(bh_mount_table_find(&table, "/usr")->source, "/dev/loop0");
        assert_null(bh_mount_table_find(&table, "/us"));
        bh_mount_table_clear(&table);
}

static void test_malformed_tables_are_refused(void **state)
{
        static const char *const texts[] = {
                "22 1 0:41 / /\n",
                "22 1 0:41 / / ro,nosuid tmpfs none ro\n",
                "22 1 0:41 / / ro - tmpfs none\n",
                "\n",
        };

        (void)state;
        for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
                struct bh_mount_table table;
                struct bh_error error;

                assert_int_equal(bh_mount_table_parse_take(bh_strdup(texts[i]), &table, &error),
                                 -1);
                assert_int_equal(error.code, BH_ERROR_INVALID);
        }
}

static void test_options_match_whole(void **state)
{
        (void)state;
        assert_true(bh_mount_option("rw,nosuid,nodev", "rw"));
        assert_true(bh_mount_option("rw,nosuid,nodev", "nosuid"));
        assert_true(bh_mount_option("rw,nosuid,nodev", "nodev"));
        assert_false(bh_mount_option("rw,nosuid,nodev", "dev"));
        assert_false(bh_mount_option("rw,nosuid,nodev", "nosui"));
        assert_false(bh_mount_option("size=1,hidepid=invisible", "hidepid"));
        assert_false(bh_mount_option("", "ro"));
}

static void test_status_fields(void **state)
{
        struct bh_readback readback = BH_READBACK_NONE;
        struct bh_error error;
        char value[32], small[4];

        (void)state;
        readback.status = bh_strdup("Name:\tsh\nUid:\t1\t2\t3\t4\nGroups:\t \nCapEff:\t00ff\n");
        assert_int_equal(bh_readback_status(&readback, "Uid", value, sizeof(value), &error), 0);
        assert_string_equal(value, "1 2 3 4");
        assert_int_equal(bh_readback_status(&readback, "Groups", value, sizeof(value), &error), 0);
        assert_string_equal(value, "");
        assert_int_equal(bh_readback_status(&readback, "Cap", value, sizeof(value), &error), -1);
        assert_int_equal(bh_readback_status(&readback, "CapEff", small, sizeof(small), &error), -1);
        bh_readback_clear(&readback);
}

static void test_own_process(void **state)
{
        struct bh_readback readback, same;
        struct bh_error error;
        ino_t seen, own;
        int first;
        unsigned flags;

        (void)state;
        assert_int_equal(bh_readback_open(getpid(), BH_READBACK_MOUNTS, &readback, &error), 0);
        assert_non_null(bh_mount_table_find(&readback.mounts, "/"));
        assert_int_equal(bh_readback_namespace(&readback, "net", &seen, &error), 0);
        assert_int_equal(bh_readback_open(0, BH_READBACK_STATUS, &same, &error), 0);
        assert_int_equal(bh_readback_namespace(&same, "net", &own, &error), 0);
        assert_true(seen == own);
        assert_int_equal(same.mounts.count, 0);
        bh_readback_clear(&same);
        assert_true(bh_readback_descriptors(&readback, &first, 1, &error) >= 3);
        assert_int_equal(first, 0);
        assert_int_equal(bh_readback_descriptor_flags(&readback, 0, &flags, &error), 0);
        bh_readback_clear(&readback);
        assert_int_equal(bh_readback_open(-1, 0, &readback, &error), -1);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_mount_table),
                cmocka_unit_test(test_last_mount_is_the_one_seen),
                cmocka_unit_test(test_malformed_tables_are_refused),
                cmocka_unit_test(test_options_match_whole),
                cmocka_unit_test(test_status_fields),
                cmocka_unit_test(test_own_process),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
