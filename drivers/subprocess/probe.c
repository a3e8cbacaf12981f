/* What this host offers for the subprocess tier. */
#include <errno.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "drivers/kernel/landlock.h"
#include "drivers/kernel/seccomp.h"
#include "drivers/kernel/trial.h"
#include "drivers/subprocess/boundary.h"

/* What helps where a control failed for this reason. The first entry whose name the control
 * begins with and whose errno is the failure's. A cause without a sure remedy has no entry: its
 * text has to do. */
static const struct {
        const char *control;
        int errnum;
        const char *fix;
} fixes[] = {
        {"landlock", EOPNOTSUPP, "boot with landlock in lsm="},
        {"landlock", ENOSYS, "boot a kernel with CONFIG_SECURITY_LANDLOCK=y and landlock in lsm="},
        {"seccomp", ENOENT, "start the broker again: its run_dir lost the filter"},
        {"seccomp", EINVAL, "boot a kernel with CONFIG_SECCOMP_FILTER=y"},
        {"seccomp", ENOSYS, "boot a kernel with CONFIG_SECCOMP_FILTER=y"},
        {"namespace.user", ENOSPC, "sysctl -w user.max_user_namespaces=15000"},
        {"namespace.", ENOSPC, "raise what is too low of sysctl user.max_*_namespaces"},
        {"namespace.", EPERM, "run the broker as root on the host"},
        {"namespace.", EINVAL, "boot Linux 6.1 or newer with CONFIG_NAMESPACES=y"},
        {"namespace.", ENOSYS, "boot Linux 6.1 or newer with CONFIG_NAMESPACES=y"},
        {"cgroup.", ENODEV, "mount -t cgroup2 none /sys/fs/cgroup; no cgroup_disable= at boot"},
        {"cgroup.", EOPNOTSUPP, "boot with swapaccount=1, or swapoff -a"},
        {"cgroup.", ENOENT, "find out who removes the broker's cgroups, and start it again"},
        {"cgroup.", EROFS, "mount -o remount,rw /sys/fs/cgroup"},
        {"cgroup.", EACCES, "run the broker as root, with cgroups that it may write"},
        {"cgroup.", EPERM, "run the broker as root, with cgroups that it may write"},
        {"cgroup.", EAGAIN, "raise cgroup.max.descendants"},
        {"cgroup.", EBUSY, "start the broker where the root of /sys/fs/cgroup has no processes"},
        {"workspace", ENOSPC, "make room in state_dir"},
        {"workspace", ENOENT, "modprobe loop"},
        {"workspace", ENXIO, "modprobe loop"},
        {"workspace", ENODEV, "modprobe ext4"},
        {"root.readonly", EPERM, "run the broker as root, in a mount namespace of its own"},
};

const char *bh_subprocess_fix(const char *control, int errnum)
{
        for (size_t i = 0; i < sizeof(fixes) / sizeof(fixes[0]); i++) {
                if (strncmp(control, fixes[i].control, strlen(fixes[i].control)) == 0 &&
                    fixes[i].errnum == errnum)
                        return fixes[i].fix;
        }
        return "";
}

static void add_missing(struct bh_tier_host *tier, const struct bh_error *error)
{
        bool named = error->code == BH_ERROR_CONTROL;
        _cleanup_free_ char *what = named ? bh_format("%s: %s", error->subject, error->message)
                                          : bh_strdup(error->message);

        bh_tier_host_add_missing(tier, what,
                                 named ? bh_subprocess_fix(error->subject, error->errnum) : "");
}

/* A directory that is there, and empty: one of the template's own. */
static char *mount_source(const struct bh_driver_host *host)
{
        _cleanup_free_ char *root = bh_subprocess_root_path(host);

        return bh_format("%s/mnt", root);
}

int bh_subprocess_probe(const struct bh_driver_host *host, enum bh_tier tier,
                        struct bh_tier_host *ret, struct bh_error *error)
{
        struct bh_tier_host found = {.driver = bh_strdup("subprocess")};
        _cleanup_free_ char *source = mount_source(host);
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
        found.available =
                bh_trial_run(&bh_subprocess_driver, host, tier, NULL, source, &failure) == 0;
        if (found.available)
                found.features = 1U << BH_FEATURE_NAMED_WORKSPACE | 1U << BH_FEATURE_MOUNTS;
        else
                add_missing(&found, &failure);
        *ret = found;
        return 0;
}
