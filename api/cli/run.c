/* `bulkhead run`: one execution as if it were a local command. */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "api/cli/cli.h"
#include "api/cli/execution_text.h"
#include "api/cli/follow.h"
#include "api/cli/member.h"
#include "api/cli/request.h"
#include "base/alloc.h"
#include "base/ulid.h"

#define CREATE_TRIES    5     /* a lost answer is asked for again under the same key */
#define KILL_TIMEOUT_MS 10000 /* a second ^C need not wait for this: it ends the client */

/* The broker is on its way down or up and took nothing (docs/errors.md). */
static bool asks_to_try_again(const struct bh_http_response *response)
{
        const char *code = bh_member_text(response->json, "code");

        return response->status == 503 && code != NULL &&
               (strcmp(code, "draining") == 0 || strcmp(code, "unavailable") == 0);
}

/* Creates it. The key makes a repeated POST the same execution. */
static int create(struct bh_cli *cli, const json_t *body, json_t **ret, struct bh_error *error)
{
        char key[BH_ID_SIZE];
        struct bh_http_request request = {.method = "POST",
                                          .path = "/v1/executions",
                                          .body = body,
                                          .idempotency_key = key,
                                          .timeout_ms = BH_CALL_TIMEOUT_MS};

        bh_id_make("run_", key);
        if (bh_cli_connect(cli, error) < 0)
                return -1;
        for (int try = 1;; try++) {
                _cleanup_response_ struct bh_http_response response = {0};
                bool answered = bh_http_call(cli->http, &request, &response, error) == 0;

                /* No connection at the first try: there is no broker, and no reason to wait. */
                if (!answered &&
                    (try == CREATE_TRIES || (try == 1 && error->code != BH_ERROR_CLOSED)))
                        return -1;
                if (answered && response.status / 100 == 2) {
                        if (bh_member_text(response.json, "execution") == NULL)
                                return bh_error_set(error, BH_ERROR_PROTOCOL,
                                                    "the answer of %s names no execution; is that "
                                                    "a broker?",
                                                    bh_cli_url(cli));
                        *ret = bh_steal_ptr(&response.json);
                        return 0;
                }
                if (answered && (try == CREATE_TRIES || !asks_to_try_again(&response)))
                        return bh_cli_problem(cli, &response, error);
                poll(NULL, 0, try * 200);
        }
}

static int catch_signals(sigset_t *set, struct bh_error *error)
{
        int fd;

        sigemptyset(set);
        sigaddset(set, SIGINT);
        sigaddset(set, SIGTERM);
        sigaddset(set, SIGHUP);
        sigprocmask(SIG_BLOCK, set, NULL);
        fd = signalfd(-1, set, SFD_CLOEXEC | SFD_NONBLOCK);
        return fd >= 0 ? fd : bh_error_errno(error, errno, "signalfd");
}

static void kill_execution(struct bh_cli *cli, const char *execution)
{
        _cleanup_free_ char *path = NULL;
        _cleanup_response_ struct bh_http_response response = {0};
        struct bh_error error = {0};
        struct bh_http_request request = {.method = "DELETE", .timeout_ms = KILL_TIMEOUT_MS};

        if (bh_cli_path("executions", execution, "", &path, &error) < 0)
                return;
        request.path = path;
        if (bh_cli_call(cli, &request, &response, &error) < 0) {
                bh_cli_say_error(cli, &error);
                bh_cli_say(cli, "%s may still run; 'bulkhead executions kill %s' ends it",
                           execution, execution);
        }
}

/* The client was told to go: the execution goes with it, as a local command would. */
static int end_by_signal(struct bh_cli *cli, const char *execution, int signals, sigset_t *set)
{
        struct signalfd_siginfo info = {.ssi_signo = SIGINT};

        if (read(signals, &info, sizeof(info)) != (ssize_t)sizeof(info))
                info.ssi_signo = SIGINT;
        bh_http_interrupt_by(cli->http, -1);
        sigprocmask(SIG_UNBLOCK, set, NULL);
        bh_cli_say(cli, "%s: killing %s", strsignal((int)info.ssi_signo), execution);
        kill_execution(cli, execution);
        return 128 + (int)info.ssi_signo;
}

static int watch(struct bh_cli *cli, const char *execution, json_t **ret, struct bh_error *error)
{
        return cli->json ? bh_follow_quietly(cli, execution, ret, error)
                         : bh_follow(cli, execution, STDOUT_FILENO, STDERR_FILENO, ret, error);
}

static int run(struct bh_cli *cli, struct bh_error *error)
{
        _cleanup_json_ json_t *body = NULL, *created = NULL, *ended = NULL;
        _cleanup_close_ int signals = -1;
        sigset_t set;
        const char *execution;

        if (bh_request_from_options(cli->options, STDIN_FILENO, &body, error) < 0)
                return -1;
        signals = catch_signals(&set, error);
        if (signals < 0 || create(cli, body, &created, error) < 0)
                return -1;
        execution = bh_member_text(created, "execution");
        if (bh_options_flag(cli->options, "detach")) {
                if (cli->json)
                        bh_cli_json(cli, created);
                else
                        fprintf(cli->out, "%s\n", execution);
                return BH_EXIT_OK;
        }
        signal(SIGPIPE, SIG_IGN); /* a reader that left is an error of write */
        bh_http_interrupt_by(cli->http, signals);
        if (watch(cli, execution, &ended, error) < 0) {
                if (strcmp(error->reason, "interrupted") == 0)
                        return end_by_signal(cli, execution, signals, &set);
                if (error->code == BH_ERROR_SYSTEM) {
                        bh_http_interrupt_by(cli->http, -1);
                        kill_execution(cli, execution);
                        if (error->errnum == EPIPE)
                                return 128 + SIGPIPE;
                }
                return -1;
        }
        if (cli->json)
                bh_cli_json(cli, ended);
        return bh_execution_exit(cli, ended);
}

static const struct bh_option options[] = {
        BH_REQUEST_OPTIONS,
        {.name = "detach",
         .letter = 'd',
         .kind = BH_OPTION_FLAG,
         .help = "print the execution's id and leave it running"},
        {0},
};

const struct bh_command bh_commands_run[] = {
        {
                .words = {"run"},
                .arguments = "-- COMMAND...",
                .least = 1,
                .most = SIZE_MAX,
                .runs_command = true,
                .summary = "run a command for an agent, in the boundary its capabilities call for",
                .text = "Writes the command's stdout and stderr as they come. No shell is run: "
                        "for one, say\n'-- sh -c \"…\"'. ^C kills the execution. With --json the "
                        "ended execution is printed\ninstead of its output.\n\n"
                        "Exit status: the command's own; 128+N when signal N ended it; 124 when "
                        "--timeout was\nover; 137 when memory or processor time was used up, or "
                        "it was killed or re-tiered;\n125 when the broker refused, could not be "
                        "reached, or the boundary failed; 2 for wrong\nusage; 130 after ^C. All "
                        "but the command's own come with a line on stderr.",
                .example = "bulkhead run --agent counter --file words.py --timeout 10 -- "
                           "python3 words.py",
                .options = options,
                .failure = BH_EXIT_REFUSED,
                .run = run,
        },
        {.words = {NULL}},
};
