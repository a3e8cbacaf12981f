/* Outcomes and their precedence; see outcome.h. */
#include "broker/shim/outcome.h"

#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

const char *bh_outcome_name(enum bh_outcome outcome)
{
        switch (outcome) {
        case BH_OUTCOME_NONE:
                break;
        case BH_OUTCOME_EXITED:
                return "exited";
        case BH_OUTCOME_SIGNALED:
                return "signaled";
        case BH_OUTCOME_TIMEOUT:
                return "timeout";
        case BH_OUTCOME_CPU_LIMIT:
                return "cpu_limit";
        case BH_OUTCOME_OOM:
                return "oom";
        case BH_OUTCOME_KILLED:
                return "killed";
        case BH_OUTCOME_RETIERED:
                return "retiered";
        case BH_OUTCOME_LOST:
                return "lost";
        case BH_OUTCOME_BOUNDARY_FAILED:
                return "boundary_failed";
        }
        return "lost";
}

/* Appends to the detail; what does not fit is cut, never inside a character. */
static void __attribute__((format(printf, 2, 0)))
append(struct bh_verdict *verdict, const char *format, va_list arguments)
{
        size_t used = strlen(verdict->detail);

        (void)vsnprintf(verdict->detail + used, sizeof(verdict->detail) - used, format, arguments);
        bh_utf8_repair(verdict->detail);
}

bool bh_verdict_claim(struct bh_verdict *verdict, enum bh_outcome outcome, const char *format, ...)
{
        va_list arguments;

        if (verdict->outcome != BH_OUTCOME_NONE)
                return false;
        verdict->outcome = outcome;
        va_start(arguments, format);
        append(verdict, format, arguments);
        va_end(arguments);
        return true;
}

bool bh_verdict_claim_failure(struct bh_verdict *verdict, const struct bh_error *error)
{
        if (error->code == BH_ERROR_CONTROL && !strstr(error->message, error->subject))
                return bh_verdict_claim(verdict, BH_OUTCOME_BOUNDARY_FAILED, "%s: %s",
                                        error->subject, error->message);
        return bh_verdict_claim(verdict, BH_OUTCOME_BOUNDARY_FAILED, "%s", error->message);
}

void bh_verdict_note(struct bh_verdict *verdict, const char *format, ...)
{
        size_t used = strlen(verdict->detail);
        va_list arguments;

        if (used > 0)
                (void)snprintf(verdict->detail + used, sizeof(verdict->detail) - used, "; ");
        va_start(arguments, format);
        append(verdict, format, arguments);
        va_end(arguments);
}

void bh_verdict_settle(struct bh_verdict *verdict, const struct bh_end *end,
                       const struct bh_usage *usage, const struct bh_limits *limits)
{
        int64_t cpu_ms = limits->value[BH_LIMIT_CPU_MS];

        if (verdict->outcome != BH_OUTCOME_NONE)
                return;
        if (end && end->oom) {
                bh_verdict_claim(verdict, BH_OUTCOME_OOM,
                                 "memory_bytes limit of %" PRId64 " reached",
                                 limits->value[BH_LIMIT_MEMORY_BYTES]);
                return;
        }
        if (!end || end->lost) {
                bh_verdict_claim(verdict, BH_OUTCOME_LOST,
                                 "the boundary ended without telling how");
                return;
        }
        /* Between two looks a program can pass its limit and end by itself. */
        if (usage && usage->cpu_us / 1000 > cpu_ms) {
                bh_verdict_claim(verdict, BH_OUTCOME_CPU_LIMIT,
                                 "cpu_ms limit of %" PRId64 " reached", cpu_ms);
                return;
        }
        verdict->outcome = end->by_signal ? BH_OUTCOME_SIGNALED : BH_OUTCOME_EXITED;
        if (end->by_signal)
                verdict->signal = end->status;
        else
                verdict->exit_code = end->status;
}

void bh_signal_name(int signal, char ret[BH_SIGNAL_NAME_SIZE])
{
        const char *name = sigabbrev_np(signal);

        if (name)
                (void)snprintf(ret, BH_SIGNAL_NAME_SIZE, "SIG%s", name);
        else if (signal >= SIGRTMIN && signal <= SIGRTMAX)
                (void)snprintf(ret, BH_SIGNAL_NAME_SIZE, "SIGRTMIN+%d", signal - SIGRTMIN);
        else
                (void)snprintf(ret, BH_SIGNAL_NAME_SIZE, "SIG%d", signal);
}
