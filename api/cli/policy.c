/* `bulkhead policy …`: the broker's policy, and checking a policy file without a broker. */
#include <inttypes.h>
#include <string.h>

#include "api/cli/cli.h"
#include "api/cli/member.h"
#include "base/alloc.h"
#include "policy/policy.h"

static int check(struct bh_cli *cli, struct bh_error *error)
{
        _cleanup_(bh_policy_cleanup) struct bh_policy *policy = NULL;
        const char *file = bh_cli_argument(cli, 0);

        if (bh_policy_load(file, &policy, error) < 0) {
                /* A file that is wrong or cannot be read: the broker would not take it either. */
                error->code = BH_ERROR_INVALID;
                return -1;
        }
        if (cli->json) {
                _cleanup_json_ json_t *effective = bh_policy_encode(policy);

                bh_cli_json(cli, effective);
        } else {
                fprintf(cli->out, "%s: good, %zu rule%s, %s\n", file, policy->rule_count,
                        policy->rule_count == 1 ? "" : "s", policy->digest);
        }
        return BH_EXIT_OK;
}

/* "all of a, b; any of c; unless secrets_proxy=remote" */
static char *condition(const json_t *rule)
{
        static const struct {
                const char *path, *text;
        } parts[] = {{"when.all", "all of"}, {"when.any", "any of"}, {"when.none", "none of"}};
        _cleanup_free_ char *unless = bh_member_pairs(bh_member(rule, "unless_host"));
        char *text = bh_strdup("");

        for (size_t index = 0; index < sizeof(parts) / sizeof(parts[0]); index++) {
                _cleanup_free_ char *names = bh_member_join(bh_member(rule, parts[index].path));
                _cleanup_free_ char *before = text;

                text = names[0] == '\0' ? bh_steal_ptr(&before)
                                        : bh_format("%s%s%s %s", before, before[0] ? "; " : "",
                                                    parts[index].text, names);
        }
        if (unless[0] != '\0') {
                _cleanup_free_ char *before = text;

                text = bh_format("%s%sunless %s", before, before[0] ? "; " : "", unless);
        }
        return text;
}

static void show_rules(struct bh_cli *cli, const json_t *rules)
{
        static const char *const headers[] = {"RULE", "TIER", "WHEN", "WHY", NULL};
        _cleanup_(bh_table_cleanup) struct bh_table *table = bh_table_new(headers, 0);
        size_t index;
        const json_t *rule;

        json_array_foreach (rules, index, rule) {
                bh_table_cell(table, bh_member_text(rule, "name"));
                bh_table_cell(table, bh_member_text(rule, "tier"));
                bh_table_cell_take(table, condition(rule));
                bh_table_cell(table, bh_member_text(rule, "text"));
        }
        bh_table_wrap(table);
        bh_cli_table(cli, table);
}

static void show_limits(struct bh_cli *cli, const json_t *limits)
{
        static const char *const headers[] = {"LIMIT", "DEFAULT", "MAXIMUM", NULL};
        _cleanup_(bh_table_cleanup) struct bh_table *table = bh_table_new(headers, 0);
        const char *name;
        json_t *limit;

        json_object_foreach ((json_t *)limits, name, limit) {
                bh_table_cell(table, name);
                bh_table_format(table, "%" PRId64, bh_member_integer(limit, "default", 0));
                bh_table_format(table, "%" PRId64, bh_member_integer(limit, "max", 0));
        }
        bh_cli_heading(cli, "Limits");
        bh_cli_table(cli, table);
}

static void show_rest(struct bh_cli *cli, const json_t *policy)
{
        _cleanup_(bh_table_cleanup) struct bh_table *table = bh_table_new(NULL, 2);
        _cleanup_free_ char *roots = bh_member_join(bh_member(policy, "mounts.allowed_roots"));

        bh_table_cell(table, "allowed mount roots");
        bh_table_cell(table, roots[0] != '\0' ? roots : "none");
        bh_table_cell(table, "when the needed tier rises");
        bh_table_cell(table, bh_member_text(policy, "retier.on_raise"));
        bh_table_cell(table, "a review lasts, days");
        bh_table_format(table, "%" PRId64, bh_member_integer(policy, "currency.max_age_days", 0));
        bh_table_cell(table, "without a current review");
        bh_table_cell(table, bh_member_text(policy, "currency.on_stale"));
        bh_table_cell(table, "secrets proxy");
        bh_table_cell(table, bh_member_text(policy, "secrets_proxy"));
        bh_table_cell(table, "digest");
        bh_table_cell(table, bh_member_text(policy, "digest"));
        bh_cli_heading(cli, "Other");
        bh_cli_table(cli, table);
}

static int show(struct bh_cli *cli, struct bh_error *error)
{
        _cleanup_json_ json_t *policy = NULL;

        if (bh_cli_get(cli, "/v1/policy", &policy, error) < 0)
                return -1;
        if (cli->json) {
                bh_cli_json(cli, policy);
                return BH_EXIT_OK;
        }
        show_rules(cli, bh_member(policy, "rules"));
        show_limits(cli, bh_member(policy, "limits"));
        show_rest(cli, policy);
        return BH_EXIT_OK;
}

const struct bh_command bh_commands_policy[] = {
        {.words = {"policy", "check"},
         .arguments = "FILE",
         .least = 1,
         .most = 1,
         .summary = "whether a broker would take this policy file; asks no broker",
         .text = "What is wrong is told with file, JSON pointer and reason; the exit status is "
                 "then 2.\nWith --json the effective policy is printed.",
         .example = "bulkhead policy check deploy/policy.json",
         .run = check},
        {.words = {"policy", "show"},
         .arguments = "",
         .summary = "the policy that the broker decides by",
         .example = "bulkhead policy show",
         .run = show},
        {.words = {NULL}},
};
