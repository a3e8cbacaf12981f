/* See command.h. */
#include "api/cli/command.h"

#include <string.h>

#include "base/alloc.h"

#define WORDS_MAX 2

const struct bh_option bh_global_options[] = {
        {.name = "url",
         .kind = BH_OPTION_TEXT,
         .value = "URL",
         .help = "the broker: http://127.0.0.1:8460, https://HOST or unix:/PATH"},
        {.name = "token-file",
         .kind = BH_OPTION_TEXT,
         .value = "FILE",
         .help = "file that holds the token"},
        {.name = "ca-file",
         .kind = BH_OPTION_TEXT,
         .value = "FILE",
         .help = "trust these certificates, not the system's (https)"},
        {.name = "certificate",
         .kind = BH_OPTION_TEXT,
         .value = "FILE",
         .help = "show this client certificate (https)"},
        {.name = "key",
         .kind = BH_OPTION_TEXT,
         .value = "FILE",
         .help = "its private key, when it is in another file"},
        {.name = "json", .kind = BH_OPTION_FLAG, .help = "answer in JSON, for programs"},
        {.name = "help", .letter = 'h', .kind = BH_OPTION_FLAG, .help = "this text"},
        {.name = "version", .kind = BH_OPTION_FLAG, .help = "the version"},
        {0},
};

static const struct bh_command *const groups[] = {
        bh_commands_run,        bh_commands_decide,     bh_commands_agents,
        bh_commands_executions, bh_commands_workspaces, bh_commands_files,
        bh_commands_policy,     bh_commands_audit,      bh_commands_doctor,
};

static size_t word_count(const struct bh_command *command)
{
        size_t count = 0;

        while (count < WORDS_MAX && command->words[count] != NULL)
                count++;
        return count;
}

/* true when the command's first words are these. */
static bool starts_with(const struct bh_command *command, const char *const words[], size_t count)
{
        if (word_count(command) < count)
                return false;
        for (size_t index = 0; index < count; index++)
                if (strcmp(command->words[index], words[index]) != 0)
                        return false;
        return true;
}

/* The command with exactly these words, or, with longer, the first that goes on after them. */
static const struct bh_command *look_up(const char *const words[], size_t count, bool longer)
{
        for (size_t group = 0; group < sizeof(groups) / sizeof(groups[0]); group++)
                for (const struct bh_command *command = groups[group]; command->words[0] != NULL;
                     command++)
                        if (starts_with(command, words, count) &&
                            (word_count(command) > count) == longer)
                                return command;
        return NULL;
}

const struct bh_command *bh_command_find(const char *const words[], size_t count)
{
        return count > WORDS_MAX ? NULL : look_up(words, count, false);
}

/* Takes words from argv, and global options between them, as long as a command goes on. */
static int take_words(struct bh_options *options, char *const argv[], int count,
                      const struct bh_command **ret, struct bh_error *error)
{
        const struct bh_option *const tables[] = {bh_global_options, NULL};
        const char *words[WORDS_MAX + 1] = {NULL};
        const struct bh_command *command = NULL;
        size_t taken = 0;
        int at = 0, first = 0; /* where the first word stands */

        for (;;) {
                /* Once the words name a command its own options may follow: leave them. */
                if (command == NULL) {
                        int used = bh_options_parse(options, tables, true, argv + at, count - at,
                                                    error);
                        if (used < 0)
                                return -1;
                        at += used;
                }
                if (at == count || options->argument_count != 0 || taken == WORDS_MAX)
                        break;
                words[taken] = argv[at];
                if (look_up(words, taken + 1, false) == NULL &&
                    look_up(words, taken + 1, true) == NULL)
                        break;
                first = taken == 0 ? at : first;
                taken++;
                at++;
                command = look_up(words, taken, false);
        }
        if (command == NULL && taken == 0 && at < count)
                return bh_error_set(error, BH_ERROR_INVALID,
                                    "there is no command '%s'; 'bulkhead help' lists them",
                                    argv[at]);
        if (command == NULL && taken != 0 && at < count)
                return bh_error_set(error, BH_ERROR_INVALID,
                                    "there is no command '%s %s'; 'bulkhead help %s' lists them",
                                    words[0], argv[at], words[0]);
        if (command == NULL && taken != 0 && !bh_options_flag(options, "help"))
                return bh_error_set(error, BH_ERROR_INVALID,
                                    "'%s' needs one more word; 'bulkhead help %s' lists them",
                                    words[0], words[0]);
        if (command == NULL && taken != 0)
                bh_options_add_arguments(options, argv + first, 1);
        *ret = command;
        return at;
}

static int check_arguments(const struct bh_command *command, const struct bh_options *options,
                           struct bh_error *error)
{
        if (options->argument_count >= command->least && options->argument_count <= command->most)
                return 0;
        if (options->argument_count < command->least)
                return bh_error_set(error, BH_ERROR_INVALID, "%s is missing", command->arguments);
        return bh_error_set(error, BH_ERROR_INVALID, "'%s' is one argument too many",
                            options->arguments[command->most]);
}

static int parse_rest(const struct bh_command *command, struct bh_options *options,
                      char *const argv[], int count, struct bh_error *error)
{
        const struct bh_option *tables[3] = {bh_global_options, NULL, NULL};
        int used;

        if (command->options != NULL)
                tables[1] = command->options;
        used = bh_options_parse(options, tables, command->runs_command, argv, count, error);
        if (used < 0)
                return -1;
        bh_options_add_arguments(options, argv + used, count - used);
        if (bh_options_flag(options, "help"))
                return 0;
        if (bh_options_complete(options, command->options, error) < 0)
                return -1;
        return check_arguments(command, options, error);
}

/* What to do next is part of every refusal. */
static void add_hint(const struct bh_command *command, struct bh_error *error)
{
        size_t used = strlen(error->message), room = sizeof(error->message) - used;

        if (strstr(error->message, "'bulkhead help") != NULL)
                return;
        if (command == NULL)
                snprintf(error->message + used, room, "; see 'bulkhead help'");
        else
                snprintf(error->message + used, room, "; see 'bulkhead %s%s%s --help'",
                         command->words[0], command->words[1] != NULL ? " " : "",
                         command->words[1] != NULL ? command->words[1] : "");
}

int bh_command_parse(int argc, char *const argv[], const struct bh_command **ret,
                     struct bh_options *options, struct bh_error *error)
{
        const struct bh_command *command = NULL;
        struct bh_error own = {0};
        int count = argc > 0 ? argc - 1 : 0;
        int used;

        error = error != NULL ? error : &own;
        used = take_words(options, argv + (argc > 0 ? 1 : 0), count, &command, error);
        if (used < 0 || (command != NULL &&
                         parse_rest(command, options, argv + 1 + used, count - used, error) < 0)) {
                add_hint(command, error);
                return -1;
        }
        *ret = command;
        return 0;
}

static void write_options(const struct bh_option *options, size_t columns, FILE *out)
{
        _cleanup_(bh_table_cleanup) struct bh_table *table = bh_table_new(NULL, 2);

        for (const struct bh_option *option = options; option->name != NULL; option++) {
                char letter[8] = "    ";

                if (option->letter != '\0')
                        snprintf(letter, sizeof(letter), "-%c, ", option->letter);
                bh_table_format(table, "  %s--%s%s%s", letter, option->name,
                                option->value != NULL ? " " : "",
                                option->value != NULL ? option->value : "");
                bh_table_format(table, "%s%s", option->help, option->required ? " (required)" : "");
        }
        bh_table_wrap(table);
        bh_table_write(table, columns, 0, out);
}

static void write_words(const struct bh_command *command, FILE *out)
{
        fprintf(out, "bulkhead %s", command->words[0]);
        if (command->words[1] != NULL)
                fprintf(out, " %s", command->words[1]);
}

void bh_command_help(const struct bh_command *command, size_t columns, FILE *out)
{
        write_words(command, out);
        fprintf(out, ": %s\n\nUsage: ", command->summary);
        write_words(command, out);
        fprintf(out, " [options]%s%s\n", command->arguments[0] != '\0' ? " " : "",
                command->arguments);
        if (command->text != NULL)
                fprintf(out, "\n%s\n", command->text);
        if (command->options != NULL) {
                fputs("\nOptions:\n", out);
                write_options(command->options, columns, out);
        }
        fputs("\nOptions of every command:\n", out);
        write_options(bh_global_options, columns, out);
        fprintf(out, "\nExample:\n  %s\n", command->example);
}

int bh_command_overview(const char *word, size_t columns, FILE *out)
{
        _cleanup_(bh_table_cleanup) struct bh_table *table = bh_table_new(NULL, 2);

        for (size_t group = 0; group < sizeof(groups) / sizeof(groups[0]); group++)
                for (const struct bh_command *command = groups[group]; command->words[0] != NULL;
                     command++) {
                        if (word != NULL && strcmp(command->words[0], word) != 0)
                                continue;
                        bh_table_format(table, "  bulkhead %s%s%s%s%s", command->words[0],
                                        command->words[1] != NULL ? " " : "",
                                        command->words[1] != NULL ? command->words[1] : "",
                                        command->arguments[0] != '\0' ? " " : "",
                                        command->arguments);
                        bh_table_cell(table, command->summary);
                }

        int count = (int)bh_table_rows(table);
        if (count == 0)
                return 0;
        if (word == NULL)
                fputs("bulkhead: ask an isolation broker to run commands for agents\n\n", out);
        fputs("Commands:\n", out);
        bh_table_wrap(table);
        bh_table_write(table, columns, 0, out);
        fputs("\nOptions of every command:\n", out);
        write_options(bh_global_options, columns, out);
        fputs("\nWithout them: BULKHEAD_URL (else unix:/run/bulkhead/api.sock), "
              "BULKHEAD_TOKEN_FILE or\nBULKHEAD_TOKEN, BULKHEAD_CA_FILE, BULKHEAD_CERTIFICATE, "
              "BULKHEAD_KEY.\n'bulkhead help COMMAND' and 'bulkhead COMMAND --help' say more.\n"
              "Exit status: 0, 1 when the broker refused or failed, 2 for wrong usage; "
              "'run' has more.\n",
              out);
        return count;
}
