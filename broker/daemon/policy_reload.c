/* Reading config and policy again on SIGHUP. A bad file is refused and the old one stays. */
#include <string.h>

#include "base/log.h"
#include "broker/daemon/daemon.h"
#include "broker/daemon/retier.h"

/* What only a start can change. */
static json_t *needs_restart(const struct bh_config *old, const struct bh_config *new)
{
        json_t *names = json_array();
        bool same = old->listen_count == new->listen_count;
        for (size_t i = 0; same && i < old->listen_count; i++)
                same = strcmp(old->listen[i].text, new->listen[i].text) == 0;
        if (!same)
                json_array_append_new(names, json_string("listen"));
        if (strcmp(old->state_dir, new->state_dir) != 0)
                json_array_append_new(names, json_string("state_dir"));
        if (strcmp(old->run_dir, new->run_dir) != 0)
                json_array_append_new(names, json_string("run_dir"));
        if (old->uid_base != new->uid_base)
                json_array_append_new(names, json_string("uid_base"));
        return names;
}

/* What is in force stays in force: the parts that needs_restart names keep their old value. */
static void take_config(struct bh_daemon *daemon, struct bh_config *config)
{
        struct bh_config *old = daemon->config;
        config->uid_base = old->uid_base;
        daemon->config = config;
        bh_config_free(old);
}

static void refuse(struct bh_daemon *daemon, const struct bh_error *error)
{
        bh_log_error("reload.refused", NULL, error);
        bh_audit_add_take(daemon->audit, "broker", "policy.reload_refused", NULL,
                          json_pack("{ssss}", "reason", error->message, "pointer", error->subject));
}

void bh_daemon_reload(struct bh_daemon *daemon)
{
        struct bh_error error = {0};
        _cleanup_(bh_config_cleanup) struct bh_config *config = NULL;
        struct bh_policy *policy = NULL;
        enum bh_config_result result = BH_CONFIG_RUN;
        if (bh_config_read_from(daemon->config->from, daemon->argc, daemon->argv, &config, &result,
                                &error) < 0 ||
            bh_policy_load(config->policy, &policy, &error) < 0) {
                refuse(daemon, &error);
                return;
        }
        json_t *restart = needs_restart(daemon->config, config);
        char previous[BH_DIGEST_TEXT_SIZE];
        memcpy(previous, daemon->policy->digest, sizeof(previous));
        bh_policy_free(daemon->policy);
        daemon->policy = policy;
        take_config(daemon, bh_steal_ptr(&config));
        bh_audit_add_take(daemon->audit, "broker", "policy.reloaded", NULL,
                          json_pack("{sssssoso}", "previous_digest", previous, "policy_digest",
                                    daemon->policy->digest, "needs_restart", restart, "affected",
                                    bh_retier_all(daemon)));
        bh_log_take(BH_LOG_INFO, "reload.done",
                    json_pack("{ss}", "policy_digest", daemon->policy->digest));
        bh_shims_refill(daemon);
}
