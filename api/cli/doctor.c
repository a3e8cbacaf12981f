/* `bulkhead doctor`: is there a broker, may we talk to it, and what can its host give. Every line
 * that is not good comes with what mends it. Works without a broker too. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "api/cli/cli.h"
#include "api/cli/member.h"
#include "api/cli/text.h"
#include "base/alloc.h"
#include "base/fd.h"
#include "policy/tier.h"

enum mark { GOOD, BAD, NOTE };

struct report {
        struct bh_cli *cli;
        json_t *checks; /* [{"check", "status", "detail", "fix"}] */
        bool bad;
};

static void add(struct report *report, const char *check, enum mark mark, const char *detail,
                const char *fix)
{
        static const char *const names[] = {"ok", "bad", "note"};
        json_t *entry = json_object();

        json_object_set_new(entry, "check", json_string(check));
        json_object_set_new(entry, "status", json_string(names[mark]));
        json_object_set_new(entry, "detail", json_string(detail));
        json_object_set_new(entry, "fix",
                            fix != NULL && fix[0] != '\0' ? json_string(fix) : json_null());
        json_array_append_new(report->checks, entry);
        report->bad = report->bad || mark == BAD;
}

/* One GET whose refusal is a finding and not the end. 0, or -1 when no answer came. */
static int ask(struct report *report, const char *path, struct bh_http_response *ret,
               struct bh_error *error)
{
        struct bh_http_request request = {
                .method = "GET", .path = path, .timeout_ms = BH_CALL_TIMEOUT_MS};

        if (bh_cli_connect(report->cli, error) < 0)
                return -1;
        return bh_http_call(report->cli->http, &request, ret, error);
}

/* Why a broker could not work here, for when there is none to ask. */
static void check_local(struct report *report)
{
        _cleanup_free_ char *namespaces = NULL;
        size_t size = 0;
        struct utsname host;

        if (uname(&host) == 0)
                add(report, "this host's kernel", NOTE, host.release, NULL);
        if (bh_read_file(AT_FDCWD, "/proc/sys/user/max_user_namespaces", 64, &namespaces, &size,
                         NULL) < 0)
                add(report, "user namespaces", BAD, "this kernel has none",
                    "boot a kernel with CONFIG_USER_NS=y");
        else if (strtol(namespaces, NULL, 10) == 0)
                add(report, "user namespaces", BAD, "none may be made",
                    "sysctl -w user.max_user_namespaces=65536");
        if (access("/sys/fs/cgroup/cgroup.controllers", F_OK) != 0 &&
            access("/sys/fs/cgroup/memory", F_OK) != 0)
                add(report, "cgroups", BAD, "neither v2 nor v1 is mounted in /sys/fs/cgroup",
                    "mount -t cgroup2 cgroup2 /sys/fs/cgroup");
}

/* A transport's error is what is wrong, and what to do next after the semicolon. */
static void broker_is_away(struct report *report, const struct bh_error *error)
{
        const char *url = bh_cli_url(report->cli);
        const char *path = strncmp(url, "unix:", 5) == 0 ? url + 5 : NULL;
        size_t length = strcspn(error->message, ";");
        _cleanup_free_ char *what = bh_strndup(error->message, length);
        const char *fix = error->message[length] == ';' ? error->message + length + 2 : NULL;

        if (path != NULL && access(path, F_OK) == 0 && access(path, W_OK) != 0)
                fix = "run this as root, or use the broker's TCP address";
        add(report, "broker", BAD, what, fix);
}

static bool check_broker(struct report *report)
{
        _cleanup_response_ struct bh_http_response response = {0};
        struct bh_error error = {0};
        size_t index;
        const json_t *reason;

        if (ask(report, "/readyz", &response, &error) < 0) {
                broker_is_away(report, &error);
                return false;
        }
        if (response.status == 200) {
                add(report, "broker", GOOD, bh_cli_url(report->cli), NULL);
                return true;
        }

        _cleanup_free_ char *status =
                bh_format("%s answers %ld to /readyz", bh_cli_url(report->cli), response.status);
        add(report, "broker", BAD, status, "look at the broker's log");
        json_array_foreach (bh_member(response.json, "reasons"), index, reason) {
                add(report, "broker is not ready", BAD,
                    json_is_string(reason) ? json_string_value(reason) : "unknown reason", NULL);
        }
        return true;
}

/* The host's tiers, or NULL with a finding why not. */
static json_t *check_token(struct report *report)
{
        _cleanup_free_ char *token = NULL, *source = NULL;
        _cleanup_response_ struct bh_http_response response = {0};
        struct bh_error error = {0};

        if (bh_cli_token(report->cli, &token, &source, &error) < 0 || token == NULL) {
                add(report, "token", BAD,
                    token == NULL && error.message[0] == '\0' ? "none is named" : error.message,
                    "--token-file STATE_DIR/tokens/operator, or BULKHEAD_TOKEN_FILE");
                return NULL;
        }
        if (ask(report, "/v1/host", &response, &error) < 0) {
                add(report, "token", BAD, error.message, NULL);
                return NULL;
        }
        if (response.status != 200 || response.json == NULL) {
                _cleanup_free_ char *what =
                        bh_format("the one from %s: %ld %s", source, response.status,
                                  bh_member_text(response.json, "detail"));

                add(report, "token", BAD, what, "name a token of this broker with --token-file");
                return NULL;
        }
        add(report, "token", GOOD, source, NULL);
        return bh_steal_ptr(&response.json);
}

static void check_tier(struct report *report, enum bh_tier tier, const json_t *found)
{
        _cleanup_free_ char *name = bh_format("tier %s", bh_tier_name(tier));
        const char *technology = bh_member_text(found, "technology");
        size_t index;
        const json_t *missing;
        bool available = bh_member_true(found, "available");

        if (available)
                add(report, name, GOOD, technology != NULL ? technology : "available", NULL);
        else if (json_array_size(bh_member(found, "missing")) == 0)
                add(report, name, NOTE, "not there", NULL);
        json_array_foreach (bh_member(found, "missing"), index, missing) {
                const char *what = bh_member_text(missing, "what");

                /* What an available tier lacks is a part of it; the rest makes the tier. */
                add(report, name, NOTE, what != NULL ? what : "something is missing",
                    bh_member_text(missing, "fix"));
        }
}

static void check_host(struct report *report, const json_t *host)
{
        bool any = false;

        for (int tier = 0; tier < BH_TIER_COUNT; tier++) {
                const json_t *found =
                        bh_member(bh_member(host, "tiers"), bh_tier_name((enum bh_tier)tier));

                any = any || bh_member_true(found, "available");
                check_tier(report, (enum bh_tier)tier, found);
        }
        if (!any)
                add(report, "tiers", BAD, "this host can give none", "see the lines above");
        add(report, "cgroup layout", NOTE,
            bh_member_text(host, "cgroup") != NULL ? bh_member_text(host, "cgroup") : "unknown",
            NULL);
        if (bh_member_true(host, "kvm.usable"))
                add(report, "kvm", GOOD, "usable", NULL);
        else if (bh_member_text(host, "kvm.reason") != NULL)
                add(report, "kvm", NOTE, bh_member_text(host, "kvm.reason"), NULL);
}

static char *shown_text(const char *text)
{
        return bh_text_escape(text, strlen(text));
}

static void write_report(struct bh_cli *cli, const json_t *checks)
{
        static const char *const colours[] = {"\033[32m", "\033[31m", "\033[33m"};
        size_t index;
        const json_t *check;
        size_t widest = 0;

        json_array_foreach (checks, index, check) {
                size_t length = strlen(bh_member_text(check, "check"));

                widest = length > widest ? length : widest;
        }
        json_array_foreach (checks, index, check) {
                const char *status = bh_member_text(check, "status");
                const char *fix = bh_member_text(check, "fix");
                size_t colour = status[0] == 'o' ? 0 : status[0] == 'b' ? 1 : 2;
                _cleanup_free_ char *detail = shown_text(bh_member_text(check, "detail"));

                fprintf(cli->out, "%s%-5s%s %-*s  %s\n", cli->out_colour ? colours[colour] : "",
                        status, cli->out_colour ? "\033[0m" : "", (int)widest,
                        bh_member_text(check, "check"), detail);
                if (fix != NULL) {
                        _cleanup_free_ char *shown = shown_text(fix);

                        fprintf(cli->out, "%-*s  fix: %s\n", (int)widest + 6, "", shown);
                }
        }
}

static int doctor(struct bh_cli *cli, struct bh_error *error)
{
        _cleanup_json_ json_t *checks = json_array(), *host = NULL, *document = json_object();
        struct report report = {.cli = cli, .checks = checks};

        /* A URL that cannot be used at all is wrong usage, not a finding. */
        if (bh_cli_connect(cli, error) < 0 && error->code == BH_ERROR_INVALID &&
            cli->http == NULL && bh_options_text(cli->options, "url") != NULL)
                return -1;
        if (check_broker(&report)) {
                host = check_token(&report);
                if (host != NULL)
                        check_host(&report, host);
        } else if (strncmp(bh_cli_url(cli), "https:", 6) != 0) {
                check_local(&report);
        }
        if (cli->json) {
                json_object_set_new(document, "healthy", json_boolean(!report.bad));
                json_object_set(document, "checks", checks);
                if (host != NULL)
                        json_object_set(document, "host", host);
                bh_cli_json(cli, document);
        } else {
                write_report(cli, checks);
        }
        return report.bad ? BH_EXIT_FAILED : BH_EXIT_OK;
}

const struct bh_command bh_commands_doctor[] = {
        {.words = {"doctor"},
         .arguments = "",
         .summary = "whether the broker can be used, what its host offers, and what mends the rest",
         .text = "Says for every tier what is there, what is missing and the command that gets "
                 "it. Exit\nstatus: 0 when the broker can be used and gives at least one tier, "
                 "else 1.",
         .example = "bulkhead doctor",
         .run = doctor},
        {.words = {NULL}},
};
