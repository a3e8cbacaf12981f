/* Options as tables: what a command takes is data, and one parser reads it. Pure. Called by
 * main.c, which knows the command, and by the commands for the values. */
#ifndef BULKHEAD_API_CLI_OPTIONS_H
#define BULKHEAD_API_CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

enum bh_option_kind {
        BH_OPTION_FLAG,
        BH_OPTION_TEXT,     /* given at most once */
        BH_OPTION_LIST,     /* text, may be given again */
        BH_OPTION_PAIRS,    /* K=V, may be given again; a K only once */
        BH_OPTION_COUNT,    /* a positive integer */
        BH_OPTION_SIZE,     /* bytes: 1048576, 64M, 1.5GiB */
        BH_OPTION_DURATION, /* kept in milliseconds: 30, 1.5, 500ms, 2m, 1h */
};

struct bh_option {
        const char *name;  /* without the dashes; NULL ends a table */
        const char *value; /* what help calls its value */
        const char *help;
        enum bh_option_kind kind;
        char letter; /* '\0': none */
        bool required;
};

struct bh_option_value {
        const struct bh_option *option;
        const char *text; /* borrowed from argv; NULL for a flag */
        int64_t number;   /* of COUNT, SIZE and DURATION */
};

struct bh_options {
        struct bh_option_value *values;
        size_t value_count;
        const char **arguments; /* what is no option, in order; borrowed from argv */
        size_t argument_count;
};

/* Reads argv[0..count) against the NULL-terminated list of tables and adds to *options. Stops
 * after "--" (all that follows are arguments), or, with stop_at_argument, before the first
 * argument. Returns how many of argv it has read, or -1 with BH_ERROR_INVALID. */
int bh_options_parse(struct bh_options *options, const struct bh_option *const tables[],
                     bool stop_at_argument, char *const argv[], int count, struct bh_error *error);

/* Adds argv[0..count) as arguments, unread. */
void bh_options_add_arguments(struct bh_options *options, char *const argv[], int count);

/* -1 when a required option of table is missing. */
int bh_options_complete(const struct bh_options *options, const struct bh_option *table,
                        struct bh_error *error);

void bh_options_clear(struct bh_options *options);

bool bh_options_flag(const struct bh_options *options, const char *name);
/* NULL when it was not given. */
const char *bh_options_text(const struct bh_options *options, const char *name);
/* fallback when it was not given. */
int64_t bh_options_number(const struct bh_options *options, const char *name, int64_t fallback);
/* The index-th value of a list, or NULL past the last. */
const char *bh_options_item(const struct bh_options *options, const char *name, size_t index);

#endif
