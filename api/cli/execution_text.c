/* See execution_text.h. */
#include "api/cli/execution_text.h"

#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "api/cli/member.h"
#include "api/cli/text.h"
#include "base/alloc.h"

static const struct {
        const char *outcome, *text, *hint;
        int status;
} endings[] = {
        {"timeout", "its real time was over and it was killed", "; --timeout gives more",
         BH_EXIT_TIMEOUT},
        {"cpu_limit", "its processor time was used up and it was killed", "; --cpu gives more",
         BH_EXIT_KILLED},
        {"oom", "it needed more memory than its limit and was killed", "; --memory gives more",
         BH_EXIT_KILLED},
        {"killed", "it was killed", "", BH_EXIT_KILLED},
        {"retiered", "it was killed because its agent now needs a stronger tier", "",
         BH_EXIT_KILLED},
        {"lost", "the broker lost it and tore it down; how far it came is unknown", "",
         BH_EXIT_REFUSED},
        {"boundary_failed", "its boundary could not be built, so it never ran", "",
         BH_EXIT_REFUSED},
};

char *bh_execution_outcome(const json_t *execution)
{
        const char *outcome = bh_member_text(execution, "outcome");
        const char *state = bh_member_text(execution, "state");
        const char *signal_name = bh_member_text(execution, "signal");

        if (outcome == NULL)
                return bh_strdup(state != NULL ? state : "unknown");
        if (strcmp(outcome, "exited") == 0)
                return bh_format("exited %" PRId64, bh_member_integer(execution, "exit_code", -1));
        if (strcmp(outcome, "signaled") == 0 && signal_name != NULL)
                return bh_format("signaled %s", signal_name);
        return bh_strdup(outcome);
}

int bh_signal_number(const char *name)
{
        if (strncmp(name, "SIG", 3) != 0)
                return 0;
        for (int number = 1; number < SIGRTMIN; number++) {
                const char *known = sigabbrev_np(number);

                if (known != NULL && strcmp(known, name + 3) == 0)
                        return number;
        }
        if (strncmp(name, "SIGRTMIN", 8) == 0) {
                long above = name[8] == '+' ? strtol(name + 9, NULL, 10) : 0;

                return above >= 0 && above <= SIGRTMAX - SIGRTMIN ? SIGRTMIN + (int)above : 0;
        }
        return 0;
}

static void say_cut(struct bh_cli *cli, const json_t *execution, const char *stream)
{
        const json_t *output = bh_member(execution, stream);

        if (!bh_member_true(output, "truncated"))
                return;
        bh_cli_say(cli, "%s was cut: the last %" PRId64 " bytes were dropped; --output keeps more",
                   stream, bh_member_integer(output, "dropped_bytes", 0));
}

int bh_execution_exit(struct bh_cli *cli, const json_t *execution)
{
        const char *outcome = bh_member_text(execution, "outcome");
        const char *detail = bh_member_text(execution, "detail");
        const char *signal_name = bh_member_text(execution, "signal");

        say_cut(cli, execution, "stdout");
        say_cut(cli, execution, "stderr");
        if (outcome != NULL && strcmp(outcome, "exited") == 0)
                return (int)bh_member_integer(execution, "exit_code", BH_EXIT_REFUSED);
        if (outcome != NULL && strcmp(outcome, "signaled") == 0 && signal_name != NULL) {
                bh_cli_say(cli, "signal %s ended the command", signal_name);
                return 128 + bh_signal_number(signal_name);
        }
        for (size_t index = 0; outcome != NULL && index < sizeof(endings) / sizeof(endings[0]);
             index++)
                if (strcmp(outcome, endings[index].outcome) == 0) {
                        bool told = detail != NULL && detail[0] != '\0';

                        bh_cli_say(cli, "%s: %s%s%s%s%s", outcome, endings[index].text,
                                   told ? " (" : "", told ? detail : "", told ? ")" : "",
                                   endings[index].hint);
                        return endings[index].status;
                }
        bh_cli_say(cli, "the broker reports an ending that this client does not know: '%s'",
                   outcome != NULL ? outcome : "none");
        return BH_EXIT_REFUSED;
}
