/* base/audit_chain: a whole chain, and each way to break one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/audit_chain.h"
#include "base/cleanup.h"

#define LENGTH 4

/* A chain as docs/audit.md describes it. */
static void make_chain(json_t *entries[LENGTH])
{
        char previous[BH_DIGEST_TEXT_SIZE];

        snprintf(previous, sizeof(previous), "sha256:%064d", 0);
        for (int i = 0; i < LENGTH; i++) {
                entries[i] =
                        json_pack("{s:i, s:s, s:s, s:s, s:{s:s}, s:{}, s:s}", "sequence", i + 1,
                                  "at", "2026-11-30T12:00:00.000Z", "actor", "broker", "action",
                                  "test", "subject", "agent", "a1", "detail", "previous", previous);
                assert_non_null(entries[i]);
                bh_json_digest(entries[i], previous);
                json_object_set_new(entries[i], "hash", json_string(previous));
        }
}

/* How many entries are good, 1-based order given by which (0 ends it). */
static int64_t good_of(json_t *entries[LENGTH], const int which[], struct bh_error *error)
{
        struct bh_chain chain;

        bh_chain_start(&chain);
        for (; *which != 0; which++)
                if (bh_chain_check(&chain, entries[*which - 1], error) < 0)
                        break;
        return chain.count;
}

static void free_chain(json_t *entries[LENGTH])
{
        for (int i = 0; i < LENGTH; i++)
                json_decref(entries[i]);
}

static void test_whole_and_reordered(void **state)
{
        (void)state;
        static const struct {
                int which[LENGTH + 2];
                int64_t good;
        } cases[] = {
                {{1, 2, 3, 4, 0}, 4}, {{1, 2, 0}, 2},    {{0}, 0},
                {{2, 3, 4, 0}, 0},    {{1, 3, 4, 0}, 1}, {{1, 2, 2, 3, 0}, 2},
                {{1, 3, 2, 4, 0}, 1},
        };
        json_t *entries[LENGTH];

        make_chain(entries);
        for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
                struct bh_error error = {0};

                assert_int_equal(good_of(entries, cases[i].which, &error), cases[i].good);
        }
        free_chain(entries);
}

static void test_every_change_is_seen(void **state)
{
        (void)state;
        static const int all[] = {1, 2, 3, 4, 0};
        static const char *const members[] = {"at",     "actor",    "action", "subject",
                                              "detail", "previous", "hash"};

        for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
                json_t *entries[LENGTH];
                struct bh_error error = {0};

                make_chain(entries);
                json_object_set_new(entries[2], members[i], json_string("changed"));
                assert_int_equal(good_of(entries, all, &error), 2);
                assert_int_equal(error.code, BH_ERROR_REFUSED);
                assert_non_null(strstr(error.message, "entry 3"));
                free_chain(entries);
        }
}

static void test_additions_and_removals_inside_an_entry(void **state)
{
        (void)state;
        static const int all[] = {1, 2, 3, 4, 0};
        json_t *entries[LENGTH];

        make_chain(entries);
        json_object_set_new(entries[1], "more", json_true());
        assert_int_equal(good_of(entries, all, NULL), 1);
        free_chain(entries);

        make_chain(entries);
        json_object_del(entries[1], "detail");
        assert_int_equal(good_of(entries, all, NULL), 1);
        free_chain(entries);
}

static void test_an_entry_changed_with_its_hash_breaks_the_next(void **state)
{
        (void)state;
        static const int all[] = {1, 2, 3, 4, 0};
        char hash[BH_DIGEST_TEXT_SIZE];
        json_t *entries[LENGTH];

        make_chain(entries);
        json_object_del(entries[1], "hash");
        json_object_set_new(entries[1], "actor", json_string("someone else"));
        bh_json_digest(entries[1], hash);
        json_object_set_new(entries[1], "hash", json_string(hash));
        assert_int_equal(good_of(entries, all, NULL), 2);
        free_chain(entries);
}

static void test_a_piece_of_the_log(void **state)
{
        (void)state;
        json_t *entries[LENGTH];
        struct bh_error error = {0};
        struct bh_chain chain;

        make_chain(entries);
        bh_chain_start_at(&chain, 0);
        assert_int_equal(bh_chain_check(&chain, entries[2], &error), 0);
        assert_int_equal(bh_chain_check(&chain, entries[3], &error), 0);
        assert_int_equal(chain.count - chain.skipped, 2);

        bh_chain_start_at(&chain, 3);
        assert_int_equal(bh_chain_check(&chain, entries[2], &error), 0);
        assert_int_equal(bh_chain_check(&chain, entries[2], &error), -1);

        bh_chain_start_at(&chain, 2); /* its number is known and is another */
        assert_int_equal(bh_chain_check(&chain, entries[2], &error), -1);

        json_object_set_new(entries[0], "previous", json_string("sha256:of nothing"));
        bh_chain_start_at(&chain, 0); /* nothing can be before entry 1 */
        assert_int_equal(bh_chain_check(&chain, entries[0], &error), -1);
        free_chain(entries);
}

static void test_what_is_no_entry(void **state)
{
        (void)state;
        static const char *const cases[] = {
                "[]", "{}", "\"x\"", "{\"sequence\":1}",
                "{\"sequence\":\"1\",\"previous\":\"a\",\"hash\":\"b\"}"};

        for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
                _cleanup_json_ json_t *entry = json_loads(cases[i], JSON_DECODE_ANY, NULL);
                struct bh_error error = {0};
                struct bh_chain chain;

                bh_chain_start(&chain);
                assert_int_equal(bh_chain_check(&chain, entry, &error), -1);
                assert_int_equal(error.code, BH_ERROR_REFUSED);
        }
}

int main(void)
{
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_whole_and_reordered),
                cmocka_unit_test(test_every_change_is_seen),
                cmocka_unit_test(test_additions_and_removals_inside_an_entry),
                cmocka_unit_test(test_an_entry_changed_with_its_hash_breaks_the_next),
                cmocka_unit_test(test_a_piece_of_the_log),
                cmocka_unit_test(test_what_is_no_entry),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
