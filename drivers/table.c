/* The drivers of this build. Nothing else knows them all. */
#include <string.h>
#include <sys/utsname.h>

#include "base/alloc.h"
#include "drivers/container/boundary.h"
#include "drivers/driver.h"
#include "drivers/kernel/cgroup.h"
#include "drivers/subprocess/boundary.h"

static const struct bh_driver *const drivers[] = {&bh_subprocess_driver, &bh_container_driver,
                                                  NULL};

/* Which driver serves a tier; NULL where no built one does. */
static const struct bh_driver *const tier_drivers[BH_TIER_COUNT] = {
        [BH_TIER_SUBPROCESS] = &bh_subprocess_driver,
        [BH_TIER_CONTAINER] = &bh_container_driver,
        [BH_TIER_USERKERNEL] = &bh_container_driver,
};

static const char *const tier_absence[BH_TIER_COUNT] = {
        [BH_TIER_VM] = "the virtual machine driver is not part of this build",
};

const struct bh_driver *const *bh_drivers(void)
{
        return drivers;
}

const struct bh_driver *bh_driver_by_name(const char *name)
{
        for (const struct bh_driver *const *driver = drivers; *driver; driver++) {
                if (strcmp((*driver)->name, name) == 0)
                        return *driver;
        }
        return NULL;
}

static int probe_tier(const struct bh_driver_host *host, enum bh_tier tier,
                      struct bh_tier_host *ret, struct bh_error *error)
{
        if (tier_drivers[tier])
                return tier_drivers[tier]->probe(host, tier, ret, error);
        *ret = (struct bh_tier_host){.available = false};
        bh_tier_host_add_missing(ret, tier_absence[tier], "");
        return 0;
}

int bh_drivers_probe(const struct bh_driver_host *host, struct bh_host *ret, struct bh_error *error)
{
        struct bh_host found = {.kvm_usable = false};
        enum bh_cgroup_layout layout;
        struct utsname system;

        uname(&system);
        found.kernel = bh_strdup(system.release);
        found.kvm_reason = bh_strdup("no driver in this build uses KVM");
        /* A host without usable cgroups is an answer, too: no tier will be available on it. */
        found.cgroup = bh_cgroup_layout(&layout, NULL) < 0 ? "none" : bh_cgroup_layout_name(layout);
        for (enum bh_tier tier = 0; tier < BH_TIER_COUNT; tier++) {
                if (probe_tier(host, tier, &found.tier[tier], error) < 0) {
                        bh_host_clear(&found);
                        return bh_error_prefix(error, "probe tier %s", bh_tier_name(tier));
                }
        }
        *ret = found;
        return 0;
}

int bh_drivers_list_remains(const struct bh_driver_host *host, char ***ret, struct bh_error *error)
{
        return bh_cgroup_list(host, ret, error);
}
