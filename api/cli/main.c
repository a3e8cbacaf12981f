/* bulkhead: the command line client of the broker. Sets the process up and runs one command. */
#include <curl/curl.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "api/cli/command.h"

/* Columns of the terminal that fd is, or 0. */
static size_t terminal_columns(int fd)
{
        struct winsize size = {0};

        if (!isatty(fd))
                return 0;
        if (ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
                return size.ws_col;
        return 80;
}

/* https://no-color.org: any value but the empty one switches colour off. */
static bool wants_colour(int fd)
{
        const char *no_colour = getenv("NO_COLOR"), *terminal = getenv("TERM");

        return isatty(fd) && (no_colour == NULL || no_colour[0] == '\0') && terminal != NULL &&
               strcmp(terminal, "dumb") != 0;
}

/* `help …`, `--help` and `--version` before any command. */
static int run_help(struct bh_cli *cli, const struct bh_options *options)
{
        const struct bh_command *command =
                options->argument_count == 0
                        ? NULL
                        : bh_command_find(options->arguments, options->argument_count);

        if (bh_options_flag(options, "version")) {
                fprintf(cli->out, "bulkhead %s\n", BH_VERSION);
                return BH_EXIT_OK;
        }
        if (command != NULL) {
                bh_command_help(command, cli->columns, cli->out);
                return BH_EXIT_OK;
        }
        if (options->argument_count > 1 ||
            bh_command_overview(options->argument_count == 1 ? options->arguments[0] : NULL,
                                cli->columns, cli->out) == 0) {
                bh_cli_say(cli, "there is no such command; 'bulkhead help' lists them");
                return BH_EXIT_USAGE;
        }
        return BH_EXIT_OK;
}

static int run_command(struct bh_cli *cli, const struct bh_command *command)
{
        struct bh_error error = {0};
        int status;

        if (bh_options_flag(cli->options, "help")) {
                bh_command_help(command, cli->columns, cli->out);
                return BH_EXIT_OK;
        }
        status = command->run(cli, &error);
        if (status < 0) {
                fflush(cli->out);
                bh_cli_say_error(cli, &error);
                if (error.code == BH_ERROR_INVALID)
                        return BH_EXIT_USAGE;
                return command->failure != 0 ? command->failure : BH_EXIT_FAILED;
        }
        return status;
}

int main(int argc, char **argv)
{
        struct bh_options options = {0};
        struct bh_error error = {0};
        const struct bh_command *command = NULL;
        struct bh_cli cli = {
                .out = stdout,
                .err = stderr,
                .columns = terminal_columns(STDOUT_FILENO),
                .out_colour = wants_colour(STDOUT_FILENO),
                .err_colour = wants_colour(STDERR_FILENO),
                .options = &options,
        };
        int status;

        /* Widths of characters; numbers keep the C locale's point. */
        setlocale(LC_CTYPE, "C.UTF-8");
        curl_global_init(CURL_GLOBAL_DEFAULT);
        bool help = argc > 1 && strcmp(argv[1], "help") == 0;
        if (help) {
                bh_options_add_arguments(&options, argv + 2, argc - 2);
                status = run_help(&cli, &options);
        } else if (bh_command_parse(argc, argv, &command, &options, &error) < 0) {
                bh_cli_say_error(&cli, &error);
                status = BH_EXIT_USAGE;
        } else if (command == NULL &&
                   (bh_options_flag(&options, "help") || bh_options_flag(&options, "version"))) {
                status = run_help(&cli, &options);
        } else if (command == NULL) {
                bh_command_overview(NULL, 0, cli.err);
                status = BH_EXIT_USAGE;
        } else {
                cli.json = bh_options_flag(&options, "json");
                status = run_command(&cli, command);
        }
        if (fflush(stdout) != 0 || ferror(stdout)) {
                bh_cli_say(&cli, "cannot write the answer: %m");
                status = status == BH_EXIT_OK ? BH_EXIT_FAILED : status;
        }
        bh_http_free(cli.http);
        bh_options_clear(&options);
        curl_global_cleanup();
        return status;
}
