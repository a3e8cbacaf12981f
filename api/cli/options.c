/* See options.h. */
#include "api/cli/options.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

/* The largest integer that a double and JSON in any language hold exactly. */
#define NUMBER_MAX 9007199254740992.0

struct unit {
        const char *name;
        double factor;
};

static const struct unit size_units[] = {
        {"", 1},       {"B", 1},        {"K", 0x1p10}, {"KiB", 0x1p10},
        {"M", 0x1p20}, {"MiB", 0x1p20}, {"G", 0x1p30}, {"GiB", 0x1p30},
        {"T", 0x1p40}, {"TiB", 0x1p40}, {NULL, 0},
};
static const struct unit duration_units[] = {
        {"", 1000}, {"ms", 1}, {"s", 1000}, {"m", 60000}, {"h", 3600000}, {NULL, 0},
};
static const struct unit no_units[] = {{"", 1}, {NULL, 0}};

static const struct bh_option *find_name(const struct bh_option *const tables[], const char *name,
                                         size_t length)
{
        for (size_t table = 0; tables[table] != NULL; table++)
                for (const struct bh_option *option = tables[table]; option->name != NULL; option++)
                        if (strlen(option->name) == length &&
                            memcmp(option->name, name, length) == 0)
                                return option;
        return NULL;
}

static const struct bh_option *find_letter(const struct bh_option *const tables[], char letter)
{
        for (size_t table = 0; tables[table] != NULL; table++)
                for (const struct bh_option *option = tables[table]; option->name != NULL; option++)
                        if (option->letter == letter)
                                return option;
        return NULL;
}

/* Digits with at most one point, then a unit; the result must be a whole number above zero. */
static int number_with_unit(const char *text, const struct unit *units, int64_t *ret)
{
        size_t digits = strspn(text, "0123456789.");
        char *end = NULL;

        if (digits == 0 || !isdigit((unsigned char)text[0]))
                return -1;

        double value = strtod(text, &end); /* main leaves LC_NUMERIC at "C" */
        if (end != text + digits)
                return -1;
        for (const struct unit *unit = units; unit->name != NULL; unit++) {
                if (strcasecmp(unit->name, end) != 0)
                        continue;
                value *= unit->factor;
                if (value < 1 || value > NUMBER_MAX || value != floor(value))
                        return -1;
                *ret = (int64_t)value;
                return 0;
        }
        return -1;
}

static int check_pair(const struct bh_options *options, const struct bh_option *option,
                      const char *text, struct bh_error *error)
{
        const char *equals = strchr(text, '=');

        if (equals == NULL || equals == text)
                return bh_error_set(error, BH_ERROR_INVALID, "--%s takes %s, not '%s'",
                                    option->name, option->value, text);

        size_t key = (size_t)(equals - text) + 1;
        for (size_t index = 0; index < options->value_count; index++)
                if (options->values[index].option == option &&
                    strncmp(options->values[index].text, text, key) == 0)
                        return bh_error_set(error, BH_ERROR_INVALID, "--%s %.*s is given twice",
                                            option->name, (int)key - 1, text);
        return 0;
}

static int check_number(const struct bh_option *option, const char *text, int64_t *ret,
                        struct bh_error *error)
{
        switch (option->kind) {
        case BH_OPTION_COUNT:
                if (number_with_unit(text, no_units, ret) < 0)
                        return bh_error_set(error, BH_ERROR_INVALID,
                                            "--%s takes a whole number above 0, not '%s'",
                                            option->name, text);
                return 0;
        case BH_OPTION_SIZE:
                if (number_with_unit(text, size_units, ret) < 0)
                        return bh_error_set(error, BH_ERROR_INVALID,
                                            "--%s takes bytes above 0, such as 1048576 or 64M, "
                                            "not '%s'",
                                            option->name, text);
                return 0;
        case BH_OPTION_DURATION:
                if (number_with_unit(text, duration_units, ret) < 0)
                        return bh_error_set(error, BH_ERROR_INVALID,
                                            "--%s takes seconds above 0, such as 30, 1.5 or "
                                            "500ms, not '%s'",
                                            option->name, text);
                return 0;
        case BH_OPTION_FLAG:
        case BH_OPTION_TEXT:
        case BH_OPTION_LIST:
        case BH_OPTION_PAIRS:
                break;
        }
        return 0;
}

static int add(struct bh_options *options, const struct bh_option *option, const char *text,
               struct bh_error *error)
{
        struct bh_option_value value = {.option = option, .text = text};
        bool many = option->kind == BH_OPTION_LIST || option->kind == BH_OPTION_PAIRS ||
                    option->kind == BH_OPTION_FLAG;

        for (size_t index = 0; !many && index < options->value_count; index++)
                if (options->values[index].option == option)
                        return bh_error_set(error, BH_ERROR_INVALID, "--%s is given twice",
                                            option->name);
        if (option->kind == BH_OPTION_PAIRS && check_pair(options, option, text, error) < 0)
                return -1;
        if (option->kind == BH_OPTION_TEXT && text[0] == '\0')
                return bh_error_set(error, BH_ERROR_INVALID, "--%s is empty", option->name);
        if (check_number(option, text, &value.number, error) < 0)
                return -1;
        options->values =
                bh_realloc_array(options->values, options->value_count + 1, sizeof(value));
        options->values[options->value_count++] = value;
        return 0;
}

void bh_options_add_arguments(struct bh_options *options, char *const argv[], int count)
{
        size_t more = count > 0 ? (size_t)count : 0;

        options->arguments = bh_realloc_array(options->arguments,
                                              options->argument_count + more + 1, sizeof(char *));
        for (size_t index = 0; index < more; index++)
                options->arguments[options->argument_count++] = argv[index];
}

/* argv[0] starts with '-'. Returns how many words the option took, or -1. */
static int parse_option(struct bh_options *options, const struct bh_option *const tables[],
                        char *const argv[], int count, struct bh_error *error)
{
        const char *word = argv[0];
        bool is_long = word[1] == '-';
        const char *equals = is_long ? strchr(word, '=') : NULL;
        size_t length = equals != NULL ? (size_t)(equals - word) : strlen(word);
        const struct bh_option *option =
                is_long ? find_name(tables, word + 2, length - 2)
                        : (length == 2 ? find_letter(tables, word[1]) : NULL);

        if (option == NULL)
                return bh_error_set(error, BH_ERROR_INVALID, "unknown option '%.*s'", (int)length,
                                    word);
        if (option->kind == BH_OPTION_FLAG) {
                if (equals != NULL)
                        return bh_error_set(error, BH_ERROR_INVALID, "--%s takes no value",
                                            option->name);
                return add(options, option, NULL, error) < 0 ? -1 : 1;
        }
        if (equals != NULL)
                return add(options, option, equals + 1, error) < 0 ? -1 : 1;
        if (count < 2)
                return bh_error_set(error, BH_ERROR_INVALID, "--%s needs a value (%s)",
                                    option->name, option->value);
        return add(options, option, argv[1], error) < 0 ? -1 : 2;
}

int bh_options_parse(struct bh_options *options, const struct bh_option *const tables[],
                     bool stop_at_argument, char *const argv[], int count, struct bh_error *error)
{
        int at = 0;

        while (at < count) {
                if (strcmp(argv[at], "--") == 0) {
                        bh_options_add_arguments(options, argv + at + 1, count - at - 1);
                        return count;
                }
                if (argv[at][0] == '-' && argv[at][1] != '\0') {
                        int took = parse_option(options, tables, argv + at, count - at, error);

                        if (took < 0)
                                return -1;
                        at += took;
                        continue;
                }
                if (stop_at_argument)
                        return at;
                bh_options_add_arguments(options, argv + at, 1);
                at++;
        }
        return at;
}

static const struct bh_option_value *value_of(const struct bh_options *options, const char *name,
                                              size_t nth)
{
        for (size_t index = 0; index < options->value_count; index++)
                if (strcmp(options->values[index].option->name, name) == 0 && nth-- == 0)
                        return &options->values[index];
        return NULL;
}

int bh_options_complete(const struct bh_options *options, const struct bh_option *table,
                        struct bh_error *error)
{
        for (const struct bh_option *option = table; option != NULL && option->name != NULL;
             option++)
                if (option->required && value_of(options, option->name, 0) == NULL)
                        return bh_error_set(error, BH_ERROR_INVALID, "--%s %s is missing",
                                            option->name, option->value);
        return 0;
}

void bh_options_clear(struct bh_options *options)
{
        free(options->values);
        free(options->arguments);
        *options = (struct bh_options){0};
}

bool bh_options_flag(const struct bh_options *options, const char *name)
{
        return value_of(options, name, 0) != NULL;
}

const char *bh_options_text(const struct bh_options *options, const char *name)
{
        return bh_options_item(options, name, 0);
}

int64_t bh_options_number(const struct bh_options *options, const char *name, int64_t fallback)
{
        const struct bh_option_value *value = value_of(options, name, 0);

        return value != NULL ? value->number : fallback;
}

const char *bh_options_item(const struct bh_options *options, const char *name, size_t index)
{
        const struct bh_option_value *value = value_of(options, name, index);

        return value != NULL ? value->text : NULL;
}
