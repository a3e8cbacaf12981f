/* From argv to a command: finding it, reading its options, its help. Called by main.c. */
#ifndef BULKHEAD_API_CLI_COMMAND_H
#define BULKHEAD_API_CLI_COMMAND_H

#include "api/cli/cli.h"

/* --url, --token-file, --json, --help …: before or after the command's words. */
extern const struct bh_option bh_global_options[];

/* Reads argv[1..argc) into *options. *ret is the command, or NULL when none was named or
 * --help or --version stands before one (the options tell). BH_ERROR_INVALID otherwise. */
int bh_command_parse(int argc, char *const argv[], const struct bh_command **ret,
                     struct bh_options *options, struct bh_error *error);

/* The command whose words start with these, e.g. for `bulkhead help agents apply`. */
const struct bh_command *bh_command_find(const char *const words[], size_t count);

/* columns: of the terminal that out is, or 0. */
void bh_command_help(const struct bh_command *command, size_t columns, FILE *out);
/* The list of commands; with word, only those of that group. Returns how many. */
int bh_command_overview(const char *word, size_t columns, FILE *out);

#endif
