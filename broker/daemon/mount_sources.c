/* Mount sources on this host: looked at when an agent declares them, so that what can never work
 * is said at once, and opened when an execution starts. Both by the same rules; only what was
 * opened then counts. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "broker/daemon/agents.h"
#include "broker/daemon/daemon.h"
#include "drivers/kernel/mount_source.h"

static const char *find_root(const struct bh_policy *policy, const char *path)
{
        for (size_t i = 0; i < policy->allowed_root_count; i++)
                if (bh_path_is_below(path, policy->allowed_roots[i]))
                        return policy->allowed_roots[i];
        return NULL;
}

/* Neither the directory, nor anything in it, nor anything that it is in. The path of a source
 * passes through no link, so it is compared with what the directory's own comes to. */
static bool overlaps(const char *directory, const char *path)
{
        _cleanup_free_ char *real = realpath(directory, NULL);

        return real && (bh_path_is_below(path, real) || bh_path_is_below(real, path));
}

static int open_source(const struct bh_daemon *daemon, const struct bh_mount_rule *rule,
                       struct bh_error *error)
{
        const char *root = find_root(daemon->policy, rule->source);
        _cleanup_close_ int fd = -1;

        if (!root)
                return bh_error_set(error, BH_ERROR_SYSTEM,
                                    "%s lies under no root that the policy allows", rule->source);
        if (overlaps(daemon->paths.state_dir, rule->source) ||
            overlaps(daemon->paths.run_dir, rule->source))
                return bh_error_set(error, BH_ERROR_SYSTEM,
                                    "%s would show the broker's own directories", rule->source);
        fd = bh_mount_source_open(root, rule->source, error);
        if (fd < 0 || bh_mount_source_check(fd, rule->source, rule->writable, error) < 0)
                return -1;
        return bh_steal_fd(&fd);
}

int bh_mount_sources_check(const struct bh_daemon *daemon, const struct bh_mount_rules *mounts,
                           struct bh_error *error)
{
        for (size_t i = 0; i < mounts->count; i++) {
                struct bh_error problem = {0};
                _cleanup_close_ int fd = open_source(daemon, &mounts->items[i], &problem);
                if (fd >= 0)
                        continue;
                _cleanup_free_ char *pointer = bh_format("/mounts/%zu/source", i);
                return bh_error_refused(error, "mount_not_allowed", pointer, "%s", problem.message);
        }
        return 0;
}

int bh_mount_sources_open(const struct bh_daemon *daemon, const json_t *plan, int *ret_fds,
                          size_t *ret_count, struct bh_error *error)
{
        struct bh_json_at root = BH_JSON_ROOT(plan), at;
        struct bh_mount_rules mounts = {0};
        int r = 0;
        if (bh_json_require(&root, "mounts", &at, error) < 0 ||
            bh_mount_rules_decode(&at, &mounts, error) < 0)
                return -1;
        for (size_t i = 0; i < mounts.count && r == 0; i++) {
                struct bh_error problem = {0};
                int fd = open_source(daemon, &mounts.items[i], &problem);
                if (fd < 0)
                        r = bh_error_refused(error, "mount_not_allowed", "", "mounts: %s",
                                             problem.message);
                else
                        ret_fds[(*ret_count)++] = fd;
        }
        bh_mount_rules_clear(&mounts);
        return r;
}
