/* What this host offers for the subprocess tier. */
#include <string.h>
#include <sys/utsname.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "drivers/kernel/landlock.h"
#include "drivers/kernel/seccomp.h"
#include "drivers/kernel/trial.h"
#include "drivers/subprocess/boundary.h"

/* How to get what a failed control needs. The first entry whose name the control begins with. */
static const struct {
        const char *control, *fix;
} fixes[] = {
        {"landlock", "boot a kernel with CONFIG_SECURITY_LANDLOCK=y and landlock in lsm="},
        {"seccomp", "boot a kernel with CONFIG_SECCOMP_FILTER=y; apt-get install libseccomp2"},
        {"namespace.user", "sysctl -w user.max_user_namespaces=15000"},
        {"namespace.", "run the broker as root on the host, on Linux 6.1 or newer"},
        {"cgroup.", "mount -t cgroup2 none /sys/fs/cgroup, with the memory, pids and cpu "
                    "controllers"},
        {"workspace", "modprobe loop; modprobe ext4"},
        {"root.readonly", "run the broker as root, in a mount namespace of its own"},
};

static const char *find_fix(const char *control)
{
        for (size_t i = 0; i < sizeof(fixes) / sizeof(fixes[0]); i++) {
                if (strncmp(control, fixes[i].control, strlen(fixes[i].control)) == 0)
                        return fixes[i].fix;
        }
        return "";
}

static void add_missing(struct bh_tier_host *tier, const struct bh_error *error)
{
        bool named = error->code == BH_ERROR_CONTROL;
        _cleanup_free_ char *what = named ? bh_format("%s: %s", error->subject, error->message)
                                          : bh_strdup(error->message);

        bh_tier_host_add_missing(tier, what, named ? find_fix(error->subject) : "");
}

int bh_subprocess_probe(const struct bh_driver_host *host, enum bh_tier tier,
                        struct bh_tier_host *ret, struct bh_error *error)
{
        struct bh_tier_host found = {.driver = bh_strdup("subprocess")};
        struct bh_error failure = {.code = BH_ERROR_NONE};
        struct utsname system;
        int abi = bh_landlock_abi(NULL);

        if (tier != BH_TIER_SUBPROCESS) {
                bh_tier_host_clear(&found);
                return bh_error_set(error, BH_ERROR_INTERNAL, "not a tier of this driver");
        }
        uname(&system);
        found.version = bh_strdup(system.release);
        found.technology = abi < 0 ? bh_format("Linux namespaces, seccomp (%zu calls)",
                                               bh_seccomp_rule_count())
                                   : bh_format("Linux namespaces, seccomp (%zu calls), Landlock "
                                               "ABI %d",
                                               bh_seccomp_rule_count(), abi);
        found.available = bh_trial_run(&bh_subprocess_driver, host, tier, NULL, &failure) == 0;
        if (found.available)
                found.features = 1U << BH_FEATURE_NAMED_WORKSPACE;
        else
                add_missing(&found, &failure);
        *ret = found;
        return 0;
}
