/* Where this host has mounted its cgroup hierarchies and which of them gives what: read from
 * mountinfo, so any mount point and co-mounted controllers ("cpu,cpuacct") do. Owned by the
 * cgroup module; a test hands in a mountinfo of its own. */
#ifndef BULKHEAD_DRIVERS_KERNEL_CGROUP_LAYOUT_H
#define BULKHEAD_DRIVERS_KERNEL_CGROUP_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>

#include "drivers/kernel/cgroup.h"

/* What a hierarchy is used for. */
enum bh_cgroup_role {
        BH_CGROUP_MEMORY,
        BH_CGROUP_PIDS,
        BH_CGROUP_CPU,   /* accounting */
        BH_CGROUP_SHARE, /* of the processors, as one party however many processes it has */
        BH_CGROUP_KILL,  /* cgroup.kill, or the v1 freezer */
        BH_CGROUP_ROLE_COUNT,
};

struct bh_cgroup_hierarchy {
        char *mount; /* where its root is */
        bool v2;
};

struct bh_cgroup_topology {
        enum bh_cgroup_layout layout;
        struct bh_cgroup_hierarchy hierarchies[BH_CGROUP_ROLE_COUNT]; /* each one once */
        size_t count;
        size_t role[BH_CGROUP_ROLE_COUNT]; /* index of the hierarchy that plays it */
};

/* Decides from the text of a mountinfo file (proc_pid_mountinfo(5)). BH_ERROR_CONTROL names
 * the control that no hierarchy can give. */
int bh_cgroup_topology_decide(const char *mountinfo, struct bh_cgroup_topology *ret,
                              struct bh_error *error);

/* The same for the calling process. */
int bh_cgroup_topology_read(struct bh_cgroup_topology *ret, struct bh_error *error);

void bh_cgroup_topology_clear(struct bh_cgroup_topology *topology);

/* The public functions of cgroup.h, on a given topology. */
int bh_cgroup_install_in(const struct bh_cgroup_topology *topology, const char *parent,
                         struct bh_error *error);
int bh_cgroup_uninstall_in(const struct bh_cgroup_topology *topology, const char *parent,
                           struct bh_error *error);
int bh_cgroup_create_in(const struct bh_cgroup_topology *topology, const char *parent,
                        const char *id, const struct bh_limits *limits, struct bh_cgroup **ret,
                        struct bh_error *error);
int bh_cgroup_destroy_in(const struct bh_cgroup_topology *topology, const char *parent,
                         const char *id, struct bh_error *error);
int bh_cgroup_list_in(const struct bh_cgroup_topology *topology, const char *parent, char ***ret,
                      struct bh_error *error);

#endif
