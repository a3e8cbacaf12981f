/* What this host can give, and the plain read operations about the broker itself. */
#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "broker/daemon/daemon.h"
#include "broker/daemon/dispatch.h"

#define PROBE_AGAIN_US ((int64_t)1000 * 1000)

static int install(const struct bh_driver_host *paths, struct bh_error *error)
{
        const struct bh_driver *const *drivers = bh_drivers();
        for (size_t i = 0; drivers[i]; i++)
                if (drivers[i]->install(paths, error) < 0)
                        return bh_error_prefix(error, "install %s", drivers[i]->name);
        return 0;
}

static int destroy(struct bh_daemon *daemon, const char *id, struct bh_error *error)
{
        const struct bh_driver *const *drivers = bh_drivers();
        int r = 0;
        for (size_t i = 0; drivers[i]; i++)
                if (drivers[i]->destroy(&daemon->paths, id, error) < 0)
                        r = -1;
        return r;
}

const struct bh_seams bh_seams_real = {
        .install = install,
        .probe = bh_drivers_probe,
        .spawn_shim = bh_shim_spawn,
        .destroy = destroy,
};

static bool offers_a_tier(const struct bh_host *host)
{
        for (int tier = 0; tier < BH_TIER_COUNT; tier++)
                if (host->tier[tier].available)
                        return true;
        return false;
}

int bh_daemon_probe(struct bh_daemon *daemon, struct bh_error *error)
{
        struct bh_host host = {0};
        daemon->probed_us = bh_monotonic_us();
        if (!daemon->installed) {
                struct bh_error failure = {0};
                daemon->installed = daemon->seams->install(&daemon->paths, &failure) == 0;
                /* No end of the matter: the probe finds the tier unavailable and says why. */
                if (!daemon->installed)
                        bh_log_error("driver.install_failed", NULL, &failure);
        }
        if (daemon->seams->probe(&daemon->paths, &host, error) < 0) {
                bh_host_clear(&host);
                return bh_error_prefix(error, "probe this host");
        }
        daemon->probe_again = false;
        bh_host_clear(&daemon->host);
        daemon->host = host;
        /* What was installed may be gone: a cgroup removed, a run directory swept. */
        if (!offers_a_tier(&host))
                daemon->installed = false;
        return 0;
}

bool bh_daemon_probe_again(struct bh_daemon *daemon)
{
        struct bh_error error = {0};
        if (bh_monotonic_us() - daemon->probed_us < PROBE_AGAIN_US)
                return false;
        if (bh_daemon_probe(daemon, &error) < 0) {
                bh_log_error("host.probe_failed", NULL, &error);
                return false;
        }
        return true;
}

int bh_handle_health(struct bh_call *call, struct bh_error *error)
{
        (void)error;
        bh_call_reply_take(call, 200, json_pack("{ss}", "status", "ok"));
        return 0;
}

int bh_handle_ready(struct bh_call *call, struct bh_error *error)
{
        struct bh_daemon *daemon = call->daemon;
        json_t *reasons = json_array();
        (void)error;
        if (!offers_a_tier(&daemon->host))
                bh_daemon_probe_again(daemon);
        if (!offers_a_tier(&daemon->host))
                json_array_append_new(reasons, json_string("no tier is available"));
        if (daemon->store_failed)
                json_array_append_new(reasons, json_string("the store cannot be written"));
        if (daemon->draining)
                json_array_append_new(reasons, json_string("the broker is stopping"));
        bool ready = json_array_size(reasons) == 0;
        bh_call_reply_take(call, ready ? 200 : 503,
                           json_pack("{sbso}", "ready", ready, "reasons", reasons));
        return 0;
}

int bh_handle_host(struct bh_call *call, struct bh_error *error)
{
        struct bh_daemon *daemon = call->daemon;
        (void)error;
        bool all = true;
        for (int tier = 0; tier < BH_TIER_COUNT; tier++)
                all = all && daemon->host.tier[tier].available;
        if (!all || daemon->probe_again)
                bh_daemon_probe_again(daemon);
        bh_call_reply_take(call, 200, bh_host_encode(&daemon->host));
        return 0;
}

int bh_handle_policy(struct bh_call *call, struct bh_error *error)
{
        json_t *body = bh_policy_encode(call->daemon->policy);
        (void)error;
        json_object_set_new(body, "digest", json_string(call->daemon->policy->digest));
        bh_call_reply_take(call, 200, body);
        return 0;
}
