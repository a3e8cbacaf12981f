/* What every command works with: where its output goes, the options before it, the broker.
 * And the table of commands. Called by main.c and by one file per resource. */
#ifndef BULKHEAD_API_CLI_CLI_H
#define BULKHEAD_API_CLI_CLI_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "api/cli/http.h"
#include "api/cli/options.h"
#include "api/cli/table.h"
#include "base/error.h"

/* Exit statuses. */
#define BH_EXIT_OK         0
#define BH_EXIT_FAILED     1 /* the broker refused or failed */
#define BH_EXIT_USAGE      2
#define BH_EXIT_TIMEOUT    124 /* run: the wall clock limit */
#define BH_EXIT_REFUSED    125 /* run: refused, boundary failed, lost, or no broker */
#define BH_EXIT_KILLED     137 /* run: out of memory or CPU time, killed, or re-tiered */

#define BH_CALL_TIMEOUT_MS 60000 /* for requests that the broker answers at once */

struct bh_cli {
        FILE *out, *err;
        size_t columns; /* of the terminal that out is; 0: it is none, and nothing is cut */
        bool out_colour, err_colour;
        bool json; /* --json: answers as JSON, for programs */
        const struct bh_options *options;
        struct bh_http *http; /* made by the first call */
};

struct bh_command {
        const char *words[3];  /* "agents", "list" */
        const char *arguments; /* as the usage line shows them; "" */
        size_t least, most;    /* how many arguments */
        const char *summary;
        const char *text; /* paragraphs of help; NULL */
        const char *example;
        const struct bh_option *options; /* NULL: none */
        /* An exit status, or -1 and error. BH_ERROR_INVALID is a usage error; an error without
         * a message has been told already. */
        int (*run)(struct bh_cli *cli, struct bh_error *error);
        bool runs_command; /* all from the first argument on is a command line */
        int failure;       /* exit status when it fails; 0 stands for BH_EXIT_FAILED */
};

/* Each ends with an entry without words. */
extern const struct bh_command bh_commands_run[], bh_commands_decide[], bh_commands_agents[],
        bh_commands_executions[], bh_commands_workspaces[], bh_commands_files[],
        bh_commands_policy[], bh_commands_audit[], bh_commands_doctor[];

const char *bh_cli_argument(const struct bh_cli *cli, size_t index);

/* Opens cli->http if it is not open. */
int bh_cli_connect(struct bh_cli *cli, struct bh_error *error);
/* The broker's URL by --url, BULKHEAD_URL, or the default. */
const char *bh_cli_url(const struct bh_cli *cli);
/* The token's value and where it is from, by --token-file, BULKHEAD_TOKEN_FILE, BULKHEAD_TOKEN,
 * or, for root, the operator's file; both NULL when there is none. Caller frees both. */
int bh_cli_token(const struct bh_cli *cli, char **ret_token, char **ret_source,
                 struct bh_error *error);

/* A call that must succeed: an answer that is not 2xx is told to the user and becomes -1. */
int bh_cli_call(struct bh_cli *cli, const struct bh_http_request *request,
                struct bh_http_response *ret, struct bh_error *error);
/* GET, and the JSON of the answer (a new reference). */
int bh_cli_get(struct bh_cli *cli, const char *path, json_t **ret, struct bh_error *error);
/* All pages of a list up to max members, as one array. path may have a query. */
int bh_cli_list(struct bh_cli *cli, const char *path, int64_t max, json_t **ret, bool *ret_more,
                struct bh_error *error);

/* DELETE one object and say so. query: "" or "?…". */
int bh_cli_delete(struct bh_cli *cli, const char *collection, const char *name, const char *query,
                  struct bh_error *error);

/* "/v1/agents/<escaped name>"; an empty name would name the collection: BH_ERROR_INVALID. */
int bh_cli_path(const char *collection, const char *name, const char *tail, char **ret,
                struct bh_error *error);

/* Tells a problem+json answer: what, where, and what to do next. Returns -1, error told. */
int bh_cli_problem(struct bh_cli *cli, const struct bh_http_response *response,
                   struct bh_error *error);
/* One line "bulkhead: …" on err; control characters shown, not obeyed. */
void bh_cli_say(struct bh_cli *cli, const char *format, ...) __attribute__((format(printf, 2, 3)));
void bh_cli_say_error(struct bh_cli *cli, const struct bh_error *error);

/* JSON for programs: indented, ASCII only, so that it is safe on a terminal too. */
void bh_cli_json(struct bh_cli *cli, const json_t *json);

/* The items of a list as the API's own page: {"data": […], "next_cursor": null}. */
void bh_cli_json_list(struct bh_cli *cli, const json_t *items);
void bh_cli_table(struct bh_cli *cli, const struct bh_table *table);
/* An empty line and text, in bold on a terminal, before a second table. */
void bh_cli_heading(struct bh_cli *cli, const char *text);

/* Writes a list's table, or that there are none, and that there are more. */
void bh_cli_list_end(struct bh_cli *cli, const struct bh_table *table, const char *what, bool more);
/* Why a tier is required: one line a rule. */
void bh_cli_reasons(struct bh_cli *cli, const json_t *reasons);

/* For option tables of lists. */
#define BH_LIST_OPTIONS                                                                \
        {                                                                              \
                .name = "limit", .letter = 'n', .kind = BH_OPTION_COUNT, .value = "N", \
                .help = "at most so many (default: 50)"                                \
        }

#endif
