/* broker/shim/outcome.c: which cause wins, and what people are told. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "broker/shim/outcome.h"

static const struct bh_limits limits = {.value = {[BH_LIMIT_WALL_MS] = 2000,
                                                  [BH_LIMIT_CPU_MS] = 1000,
                                                  [BH_LIMIT_MEMORY_BYTES] = 4096}};

struct precedence {
        enum bh_outcome claimed;
        bool has_end;
        struct bh_end end;
        int64_t cpu_us;
        enum bh_outcome expected;
        int exit_code, signal;
};

/* Claimed causes beat every report; of reports the memory limit comes first, because its kill
 * looks like any other. */
static const struct precedence table[] = {
        {BH_OUTCOME_NONE, true, {.status = 0}, 0, BH_OUTCOME_EXITED, 0, 0},
        {BH_OUTCOME_NONE, true, {.status = 137}, 0, BH_OUTCOME_EXITED, 137, 0},
        {BH_OUTCOME_NONE, true, {.status = 127}, 1000000, BH_OUTCOME_EXITED, 127, 0},
        {BH_OUTCOME_NONE,
         true,
         {.by_signal = true, .status = SIGKILL},
         0,
         BH_OUTCOME_SIGNALED,
         0,
         SIGKILL},
        {BH_OUTCOME_NONE,
         true,
         {.by_signal = true, .status = SIGKILL, .oom = true},
         2000000,
         BH_OUTCOME_OOM,
         0,
         0},
        {BH_OUTCOME_NONE, true, {.status = 0}, 1001000, BH_OUTCOME_CPU_LIMIT, 0, 0},
        {BH_OUTCOME_NONE, true, {.lost = true}, 2000000, BH_OUTCOME_LOST, 0, 0},
        {BH_OUTCOME_NONE, false, {.status = 0}, 0, BH_OUTCOME_LOST, 0, 0},
        {BH_OUTCOME_TIMEOUT,
         true,
         {.by_signal = true, .status = SIGKILL, .oom = true},
         2000000,
         BH_OUTCOME_TIMEOUT,
         0,
         0},
        {BH_OUTCOME_CPU_LIMIT, true, {.lost = true}, 0, BH_OUTCOME_CPU_LIMIT, 0, 0},
        {BH_OUTCOME_KILLED, true, {.status = 0}, 0, BH_OUTCOME_KILLED, 0, 0},
        {BH_OUTCOME_RETIERED, false, {.status = 0}, 0, BH_OUTCOME_RETIERED, 0, 0},
        {BH_OUTCOME_BOUNDARY_FAILED, false, {.status = 0}, 0, BH_OUTCOME_BOUNDARY_FAILED, 0, 0},
};

static void causes_have_their_precedence(void **state)
{
        (void)state;
        for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
                const struct precedence *row = &table[i];
                struct bh_usage usage = {.cpu_us = row->cpu_us};
                struct bh_verdict verdict = {.outcome = BH_OUTCOME_NONE};

                if (row->claimed != BH_OUTCOME_NONE)
                        assert_true(bh_verdict_claim(&verdict, row->claimed, "claimed"));
                bh_verdict_settle(&verdict, row->has_end ? &row->end : NULL, &usage, &limits);
                assert_int_equal(verdict.outcome, row->expected);
                assert_int_equal(verdict.exit_code, row->exit_code);
                assert_int_equal(verdict.signal, row->signal);
                if (row->claimed != BH_OUTCOME_NONE)
                        assert_string_equal(verdict.detail, "claimed");
        }
}

static void the_first_claim_wins(void **state)
{
        struct bh_verdict verdict = {.outcome = BH_OUTCOME_NONE};

        (void)state;
        assert_true(bh_verdict_claim(&verdict, BH_OUTCOME_TIMEOUT, "%d ms", 20));
        assert_false(bh_verdict_claim(&verdict, BH_OUTCOME_KILLED, "too late"));
        assert_int_equal(verdict.outcome, BH_OUTCOME_TIMEOUT);
        assert_string_equal(verdict.detail, "20 ms");
}

static void a_failure_names_its_control_once(void **state)
{
        struct bh_verdict first = {.outcome = BH_OUTCOME_NONE};
        struct bh_verdict second = {.outcome = BH_OUTCOME_NONE};
        struct bh_error error;

        (void)state;
        bh_error_set(&error, BH_ERROR_INTERNAL, "no such file");
        bh_error_control(&error, "cgroup.memory");
        assert_true(bh_verdict_claim_failure(&first, &error));
        assert_int_equal(first.outcome, BH_OUTCOME_BOUNDARY_FAILED);
        assert_string_equal(first.detail, "cgroup.memory: no such file");
        bh_error_prefix(&error, "control cgroup.memory");
        assert_true(bh_verdict_claim_failure(&second, &error));
        assert_string_equal(second.detail, "control cgroup.memory: no such file");
}

static void details_say_the_limit(void **state)
{
        struct bh_end oom = {.by_signal = true, .status = SIGKILL, .oom = true};
        struct bh_end exited = {.status = 0};
        struct bh_usage much = {.cpu_us = 1500000};
        struct bh_verdict memory = {.outcome = BH_OUTCOME_NONE};
        struct bh_verdict cpu = {.outcome = BH_OUTCOME_NONE};
        struct bh_verdict plain = {.outcome = BH_OUTCOME_NONE};

        (void)state;
        bh_verdict_settle(&memory, &oom, &much, &limits);
        assert_string_equal(memory.detail, "memory_bytes limit of 4096 reached");
        bh_verdict_settle(&cpu, &exited, &much, &limits);
        assert_string_equal(cpu.detail, "cpu_ms limit of 1000 reached");
        bh_verdict_settle(&plain, &exited, NULL, &limits);
        assert_string_equal(plain.detail, "");
        bh_verdict_note(&plain, "stdout was lost");
        bh_verdict_note(&plain, "stderr too");
        assert_string_equal(plain.detail, "stdout was lost; stderr too");
}

static void a_long_detail_is_cut_and_stays_text(void **state)
{
        struct bh_verdict verdict = {.outcome = BH_OUTCOME_NONE};
        char text[2 * BH_OUTCOME_DETAIL_SIZE];
        json_t *encoded;

        (void)state;
        for (size_t i = 0; i < sizeof(text) - 2; i += 2)
                memcpy(text + i, "\xc3\xa9", 2);
        text[sizeof(text) - 2] = '\0';
        bh_verdict_claim(&verdict, BH_OUTCOME_KILLED, "x%s", text);
        bh_verdict_note(&verdict, "more");
        assert_int_equal(strlen(verdict.detail), BH_OUTCOME_DETAIL_SIZE - 1);
        encoded = json_string(verdict.detail);
        assert_non_null(encoded);
        json_decref(encoded);
}

static void signals_have_names(void **state)
{
        char name[BH_SIGNAL_NAME_SIZE];

        (void)state;
        bh_signal_name(SIGSEGV, name);
        assert_string_equal(name, "SIGSEGV");
        bh_signal_name(SIGKILL, name);
        assert_string_equal(name, "SIGKILL");
        bh_signal_name(SIGRTMIN + 2, name);
        assert_string_equal(name, "SIGRTMIN+2");
        bh_signal_name(32, name);
        assert_string_equal(name, "SIG32");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(causes_have_their_precedence),
                cmocka_unit_test(the_first_claim_wins),
                cmocka_unit_test(a_failure_names_its_control_once),
                cmocka_unit_test(details_say_the_limit),
                cmocka_unit_test(a_long_detail_is_cut_and_stays_text),
                cmocka_unit_test(signals_have_names),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
