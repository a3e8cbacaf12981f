/* See query.h. */
#include "api/query.h"

#include <stdlib.h>
#include <string.h>

#include "api/target.h"
#include "base/alloc.h"
#include "base/cleanup.h"
#include "policy/name.h"

#define PATH_BYTES_MAX 4095
#define CURSOR_MAX     ((size_t)6 << 10) /* bytes; that of a tree holds a path */
#define LIST_LIMIT_MAX 200
#define WAIT_DECIMALS  3

/* Each puts value into params under name, or says no. */
typedef bool (*parameter_reader)(json_t *params, const char *name, const char *value);

/* At most nine digits, nothing else. -1 when malformed. */
static long read_number(const char *text)
{
        if (text[0] == '\0' || strlen(text) > 9 || text[strspn(text, "0123456789")] != '\0')
                return -1;
        return strtol(text, NULL, 10);
}

static bool read_limit(json_t *params, const char *name, const char *value)
{
        long number = read_number(value);

        if (number < 1 || number > LIST_LIMIT_MAX)
                return false;
        return json_object_set_new(params, name, json_integer(number)) == 0;
}

static bool read_cursor(json_t *params, const char *name, const char *value)
{
        if (value[0] == '\0' || strlen(value) > CURSOR_MAX)
                return false;
        return json_object_set_new(params, name, json_string(value)) == 0;
}

static bool read_path(json_t *params, const char *name, const char *value)
{
        if (value[0] == '\0' || strlen(value) > PATH_BYTES_MAX)
                return false;
        return json_object_set_new(params, name, json_string(value)) == 0;
}

static bool read_boolean(json_t *params, const char *name, const char *value)
{
        bool yes = strcmp(value, "true") == 0;

        if (!yes && strcmp(value, "false") != 0)
                return false;
        return json_object_set_new(params, name, json_boolean(yes)) == 0;
}

/* "1.5" → 1500. */
static bool read_wait(json_t *params, const char *name, const char *value)
{
        char digits[16] = "";
        size_t whole = strspn(value, "0123456789"), decimals = 0;
        long milliseconds;

        (void)name;
        if (whole == 0 || whole > 3)
                return false;
        memcpy(digits, value, whole);
        if (value[whole] == '.') {
                decimals = strspn(value + whole + 1, "0123456789");
                if (decimals == 0 || decimals > WAIT_DECIMALS)
                        return false;
                memcpy(digits + whole, value + whole + 1, decimals);
                whole++;
        }
        if (value[whole + decimals] != '\0')
                return false;
        while (decimals++ < WAIT_DECIMALS)
                digits[strlen(digits)] = '0';
        milliseconds = strtol(digits, NULL, 10);
        if (milliseconds > BH_WAIT_MAX_MS)
                return false;
        return json_object_set_new(params, "wait_ms", json_integer(milliseconds)) == 0;
}

static bool read_name(json_t *params, const char *name, const char *value)
{
        return bh_name_valid(value) && json_object_set_new(params, name, json_string(value)) == 0;
}

static bool read_state(json_t *params, const char *name, const char *value)
{
        static const char *const states[] = {"queued", "provisioning", "running", "ended"};

        for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++)
                if (strcmp(value, states[i]) == 0)
                        return json_object_set_new(params, name, json_string(value)) == 0;
        return false;
}

static bool read_label(json_t *params, const char *name, const char *value)
{
        const char *key = name + strlen("label.");
        json_t *labels = json_object_get(params, "labels");

        if (key[0] == '\0' || strlen(key) > 63 || strlen(value) > 256)
                return false;
        if (!labels) {
                labels = json_object();
                json_object_set_new(params, "labels", labels);
        }
        return json_object_set_new(labels, key, json_string(value)) == 0;
}

static const struct {
        const char *name; /* with a trailing '.': a prefix */
        enum bh_parameter parameter;
        parameter_reader read;
        const char *expected;
} parameters[] = {
        {"limit", BH_PARAMETER_LIMIT, read_limit, "a number from 1 to 200"},
        {"cursor", BH_PARAMETER_CURSOR, read_cursor, "a next_cursor of an earlier answer"},
        {"force", BH_PARAMETER_FORCE, read_boolean, "true or false"},
        {"wait", BH_PARAMETER_WAIT, read_wait, "seconds from 0 to 600"},
        {"agent", BH_PARAMETER_AGENT, read_name, "a name"},
        {"state", BH_PARAMETER_STATE, read_state, "queued, provisioning, running or ended"},
        {"label.", BH_PARAMETER_LABEL, read_label, "label.KEY=VALUE"},
        {"follow", BH_PARAMETER_FOLLOW, read_boolean, "true or false"},
        {"tenant", BH_PARAMETER_TENANT, read_name, "a name"},
        {"path", BH_PARAMETER_PATH, read_path, "a path of at most 4095 bytes"},
};

static bool parameter_matches(size_t i, const char *name)
{
        size_t length = strlen(parameters[i].name);

        if (parameters[i].name[length - 1] == '.')
                return strncmp(name, parameters[i].name, length) == 0;
        return strcmp(name, parameters[i].name) == 0;
}

/* A name as it may stand in a message. */
static int name_error(struct bh_error *error, const char *name, const char *problem)
{
        return bh_error_invalid(error, "", "query parameter \"%.64s\" %s", name, problem);
}

static int read_parameter(const char *name, const char *value, int allowed, json_t *seen,
                          json_t *params, struct bh_error *error)
{
        for (size_t i = 0; i < sizeof(parameters) / sizeof(parameters[0]); i++) {
                if (!((int)parameters[i].parameter & allowed) || !parameter_matches(i, name))
                        continue;
                if (json_object_get(seen, name))
                        return name_error(error, name, "is given twice");
                json_object_set_new(seen, name, json_true());
                if (parameters[i].read(params, name, value))
                        return 0;
                return bh_error_invalid(error, "", "query parameter \"%.64s\" must be %s", name,
                                        parameters[i].expected);
        }
        return name_error(error, name, "is not known here");
}

int bh_query_parse(const char *query, int allowed, json_t *params, struct bh_error *error)
{
        _cleanup_free_ char *text = bh_strdup(query);
        _cleanup_json_ json_t *seen = json_object();

        if (text[0] == '\0')
                return 0;
        for (char *name = text, *next; name; name = next) {
                char *value;

                next = strchr(name, '&');
                if (next)
                        *next++ = '\0';
                value = strchr(name, '=');
                if (value)
                        *value++ = '\0';
                else
                        value = name + strlen(name);
                if (bh_percent_decode(name, true, error) < 0 ||
                    bh_percent_decode(value, true, error) < 0)
                        return bh_error_prefix(error, "the query");
                if (read_parameter(name, value, allowed, seen, params, error) < 0)
                        return -1;
        }
        return 0;
}
