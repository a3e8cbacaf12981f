/* The audit log: numbering, reading, rotation, tampering, and what a crash leaves. */
#include "unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "broker/daemon/audit.h"
#include "broker/daemon/audit_file.h"
#include "verified.h"

static char path[64];
static int directory = -1;
static int64_t cut_bytes;

static int setup(void **state)
{
        (void)state;
        temporary_directory(path, sizeof(path));
        directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        return directory < 0;
}

static int teardown(void **state)
{
        (void)state;
        int64_t *files = NULL;
        size_t count = 0;
        assert_int_equal(bh_audit_files(directory, &files, &count, NULL), 0);
        for (size_t i = 0; i < count; i++) {
                char name[BH_AUDIT_NAME_SIZE];
                bh_audit_file_name(files[i], name);
                unlinkat(directory, name, 0);
        }
        free(files);
        close(directory);
        return rmdir(path);
}

static struct bh_audit *open_log(int64_t file_max)
{
        struct bh_audit *audit = NULL;
        struct bh_error error = {0};
        if (bh_audit_open(directory, file_max, &audit, &cut_bytes, &error) < 0)
                fail_msg("%s", error.message);
        return audit;
}

static void add(struct bh_audit *audit, int count)
{
        for (int i = 0; i < count; i++) {
                bh_audit_add_take(audit, "broker", "test.happened", NULL,
                                  json_pack("{si}", "number", i));
                bh_audit_accept(audit);
                assert_int_equal(bh_audit_write(audit, NULL), 0);
        }
}

static int64_t verified(void)
{
        return verified_entries(directory);
}

static char *first_file(size_t *size)
{
        char name[BH_AUDIT_NAME_SIZE], *data = NULL;
        bh_audit_file_name(1, name);
        assert_int_equal(bh_read_file(directory, name, 1 << 20, &data, size, NULL), 0);
        return data;
}

static void write_first_file(const char *data, size_t size)
{
        char name[BH_AUDIT_NAME_SIZE];
        bh_audit_file_name(1, name);
        int fd = openat(directory, name, O_WRONLY | O_TRUNC | O_CLOEXEC);
        assert_int_equal(bh_write_full(fd, data, size), 0);
        close(fd);
}

static void the_chain_goes_on_over_restarts_and_files(void **state)
{
        (void)state;
        struct bh_audit *audit = open_log(600); /* two or three entries a file */
        add(audit, 7);
        bh_audit_free(audit);
        audit = open_log(600);
        add(audit, 5);
        assert_int_equal(bh_audit_written(audit), 12);
        bh_audit_free(audit);
        int64_t *files = NULL;
        size_t count = 0;
        assert_int_equal(bh_audit_files(directory, &files, &count, NULL), 0);
        assert_true(count > 2);
        free(files);
        assert_int_equal(verified(), 12);
}

static void pages_cover_every_entry_once(void **state)
{
        (void)state;
        struct bh_audit *audit = open_log(900);
        add(audit, 25);
        int64_t next = 1;
        for (int64_t after = 0; after < 25;) {
                _cleanup_json_ json_t *entries = NULL;
                size_t index = 0;
                json_t *entry = NULL;
                assert_int_equal(bh_audit_read(audit, after, 4, &entries, NULL), 0);
                assert_true(json_array_size(entries) > 0);
                json_array_foreach (entries, index, entry) {
                        after = json_integer_value(json_object_get(entry, "sequence"));
                        assert_int_equal(after, next++);
                }
        }
        _cleanup_json_ json_t *none = NULL;
        assert_int_equal(bh_audit_read(audit, 25, 4, &none, NULL), 0);
        assert_int_equal(json_array_size(none), 0);
        bh_audit_free(audit);
}

static void tampering_is_seen_and_stops_the_start(void **state)
{
        (void)state;
        struct bh_audit *audit = open_log(BH_AUDIT_FILE_MAX);
        add(audit, 5);
        bh_audit_free(audit);
        size_t size = 0;
        _cleanup_free_ char *original = first_file(&size);
        _cleanup_free_ char *changed = strdup(original);
        char *at = strstr(changed, "\"number\":2");
        at[strlen("\"number\":")] = '9';
        write_first_file(changed, size);
        assert_int_equal(verified(), -1);
        struct bh_error error = {0};
        assert_int_equal(bh_audit_open(directory, BH_AUDIT_FILE_MAX, &audit, &cut_bytes, &error),
                         -1);
        assert_non_null(strstr(error.message, "entry 3"));

        char *second = strchr(original, '\n') + 1, *third = strchr(second, '\n') + 1;
        size_t head = (size_t)(second - original), tail = size - (size_t)(third - original);
        memcpy(changed, original, head);
        memcpy(changed + head, third, tail);
        write_first_file(changed, head + tail);
        assert_int_equal(verified(), -1);
        write_first_file(original, size);
        assert_int_equal(verified(), 5);
}

static char *line_of(const char *data, int number)
{
        while (--number > 0)
                data = strchr(data, '\n') + 1;
        return strndup(data, (size_t)(strchr(data, '\n') - data));
}

static void a_torn_last_line_is_cut_and_comes_back(void **state)
{
        (void)state;
        struct bh_audit *audit = open_log(BH_AUDIT_FILE_MAX);
        add(audit, 3);
        bh_audit_free(audit);
        assert_int_equal(cut_bytes, 0);
        size_t size = 0;
        _cleanup_free_ char *original = first_file(&size);
        _cleanup_free_ char *second = line_of(original, 2);
        _cleanup_free_ char *third = line_of(original, 3);
        write_first_file(original, size - 10);
        audit = open_log(BH_AUDIT_FILE_MAX);
        assert_int_equal(cut_bytes, strlen(third) + 1 - 10);
        assert_int_equal(bh_audit_written(audit), 2);
        /* What was staged: one that is there, one that is not, one that does not follow. */
        assert_int_equal(bh_audit_restore(audit, 2, second, NULL), 0);
        assert_int_equal(bh_audit_restore(audit, 3, third, NULL), 0);
        assert_int_equal(bh_audit_restore(audit, 4, third, NULL), -1);
        assert_int_equal(bh_audit_write(audit, NULL), 0);
        bh_audit_free(audit);
        size_t size_now = 0;
        _cleanup_free_ char *now = first_file(&size_now);
        assert_int_equal(size, size_now);
        assert_memory_equal(original, now, size);
        assert_int_equal(verified(), 3);
}

static int count_new(int64_t sequence, const char *line, void *data, struct bh_error *error)
{
        (void)error;
        assert_int_equal(sequence, ++*(int64_t *)data);
        assert_non_null(strstr(line, "test.happened"));
        return 0;
}

static void a_turn_that_is_not_stored_leaves_no_entry(void **state)
{
        (void)state;
        struct bh_audit *audit = open_log(BH_AUDIT_FILE_MAX);
        add(audit, 2);
        bh_audit_add_take(audit, "broker", "test.happened", NULL, NULL);
        bh_audit_add_take(audit, "broker", "test.happened", NULL, NULL);
        int64_t sequence = 2;
        assert_int_equal(bh_audit_each_new(audit, count_new, &sequence, NULL), 0);
        assert_int_equal(sequence, 4);
        bh_audit_rollback(audit);
        assert_false(bh_audit_is_dirty(audit));
        add(audit, 1);
        bh_audit_free(audit);
        assert_int_equal(verified(), 3);
}

static void a_crash_right_after_a_new_file_was_made_is_survived(void **state)
{
        (void)state;
        struct bh_audit *audit = open_log(BH_AUDIT_FILE_MAX);
        add(audit, 3);
        bh_audit_free(audit);
        char name[BH_AUDIT_NAME_SIZE];
        bh_audit_file_name(4, name);
        close(openat(directory, name, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
        audit = open_log(BH_AUDIT_FILE_MAX);
        add(audit, 2);
        bh_audit_free(audit);
        assert_int_equal(verified(), 5);
}

static void a_file_that_another_touched_is_not_written_on(void **state)
{
        (void)state;

        struct bh_error error = {0};
        char name[BH_AUDIT_NAME_SIZE];
        size_t size = 0;
        struct bh_audit *audit = open_log(1 << 20);
        add(audit, 3);
        _cleanup_free_ char *data = first_file(&size);
        write_first_file(data, size - 10);
        bh_audit_add_take(audit, "broker", "test.happened", NULL, NULL);
        bh_audit_accept(audit);
        assert_int_equal(bh_audit_write(audit, &error), -1);
        assert_non_null(strstr(error.message, "was changed"));
        assert_false(bh_audit_is_written(audit));
        write_first_file(data, size); /* put right again */
        assert_int_equal(bh_audit_write(audit, NULL), 0);
        assert_int_equal(verified(), 4);
        bh_audit_file_name(1, name);
        assert_int_equal(unlinkat(directory, name, 0), 0);
        bh_audit_add_take(audit, "broker", "test.happened", NULL, NULL);
        bh_audit_accept(audit);
        assert_int_equal(bh_audit_write(audit, &error), -1);
        assert_non_null(strstr(error.message, "was removed"));
        bh_audit_free(audit);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
#define LOG_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
                LOG_TEST(the_chain_goes_on_over_restarts_and_files),
                LOG_TEST(pages_cover_every_entry_once),
                LOG_TEST(tampering_is_seen_and_stops_the_start),
                LOG_TEST(a_torn_last_line_is_cut_and_comes_back),
                LOG_TEST(a_turn_that_is_not_stored_leaves_no_entry),
                LOG_TEST(a_file_that_another_touched_is_not_written_on),
                LOG_TEST(a_crash_right_after_a_new_file_was_made_is_survived),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
