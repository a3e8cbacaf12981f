/* Life of the cgroups: the parent in every hierarchy, one directory an execution below it,
 * and their end; see cgroup.h. What the files are called is in cgroup_files.c and
 * cgroup_v1.c, where the hierarchies are in cgroup_layout.c, the end in cgroup_remove.c. */
#include "drivers/kernel/cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "drivers/kernel/cgroup_files.h"
#include "drivers/kernel/cgroup_layout.h"

#define DIRECTORY_MODE    0755
#define V2_CONTROLLERS    "+cpu +memory +pids"
#define CONTROLLERS_BYTES 4096

static const char *const control_names[BH_CGROUP_ROLE_COUNT] = {
        [BH_CGROUP_MEMORY] = "cgroup.memory", [BH_CGROUP_PIDS] = "cgroup.pids",
        [BH_CGROUP_CPU] = "cgroup.cpu",       [BH_CGROUP_SHARE] = "cgroup.cpu",
        [BH_CGROUP_KILL] = "cgroup.kill",
};

struct bh_cgroup {
        enum bh_cgroup_layout layout;
        struct {
                char *path;
                int fd;    /* the directory, O_PATH */
                int tasks; /* v1: opened by root, so that joining needs no right of its own */
                bool v2;
        } directories[BH_CGROUP_ROLE_COUNT];
        size_t count;
        size_t role[BH_CGROUP_ROLE_COUNT];
};

BH_DEFINE_CLEANUP(struct bh_cgroup *, bh_cgroup, bh_cgroup_free);

static void close_directory(DIR **directory)
{
        if (*directory)
                closedir(*directory);
}

/* ---- the parent ---- */

/* Lets children of directory have the controllers that limits need. */
static int enable_controllers(const char *directory, struct bh_error *error)
{
        static const char *const wanted[][2] = {
                {"cpu", "cgroup.cpu"}, {"memory", "cgroup.memory"}, {"pids", "cgroup.pids"}};
        _cleanup_free_ char *path = bh_format("%s/cgroup.subtree_control", directory);
        _cleanup_free_ char *held = NULL;

        if (bh_write_attribute(AT_FDCWD, path, V2_CONTROLLERS, error) < 0 ||
            bh_read_file(AT_FDCWD, path, CONTROLLERS_BYTES, &held, NULL, error) < 0)
                return bh_error_control(error, "cgroup.memory");
        for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
                char *save = NULL, *word;
                _cleanup_free_ char *copy = bh_strdup(held);

                word = strtok_r(copy, " \n", &save);
                while (word && strcmp(word, wanted[i][0]) != 0)
                        word = strtok_r(NULL, " \n", &save);
                if (!word) {
                        bh_error_set(error, BH_ERROR_SYSTEM, "%s does not hold %s", path,
                                     wanted[i][0]);
                        return bh_error_control(error, wanted[i][1]);
                }
        }
        return 0;
}

int bh_cgroup_install_in(const struct bh_cgroup_topology *topology, const char *parent,
                         struct bh_error *error)
{
        if (bh_cgroup_check_name(parent, error) < 0)
                return -1;
        if (topology->layout == BH_CGROUP_V2 &&
            enable_controllers(topology->hierarchies[0].mount, error) < 0)
                return -1;
        for (size_t i = 0; i < topology->count; i++) {
                _cleanup_free_ char *path =
                        bh_format("%s/%s", topology->hierarchies[i].mount, parent);

                if (mkdir(path, DIRECTORY_MODE) < 0 && errno != EEXIST)
                        return bh_error_errno(error, errno, "make cgroup %s", path);
                if (topology->layout == BH_CGROUP_V2 && enable_controllers(path, error) < 0)
                        return -1;
        }
        return 0;
}

int bh_cgroup_uninstall_in(const struct bh_cgroup_topology *topology, const char *parent,
                           struct bh_error *error)
{
        if (bh_cgroup_check_name(parent, error) < 0)
                return -1;
        for (size_t i = 0; i < topology->count; i++) {
                _cleanup_free_ char *path =
                        bh_format("%s/%s", topology->hierarchies[i].mount, parent);

                /* EBUSY: an execution is in it, which another start will want to find. */
                if (rmdir(path) < 0 && errno != ENOENT && errno != EBUSY)
                        return bh_error_errno(error, errno, "remove cgroup %s", path);
        }
        return 0;
}

/* ---- one execution's ---- */

static int make_directory(struct bh_cgroup *cgroup, size_t index,
                          const struct bh_cgroup_topology *topology, const char *parent,
                          const char *id, struct bh_error *error)
{
        const struct bh_cgroup_hierarchy *hierarchy = &topology->hierarchies[index];
        char *path = bh_format("%s/%s/%s", hierarchy->mount, parent, id);
        int r;

        cgroup->directories[index].path = path;
        cgroup->directories[index].fd = -1;
        cgroup->directories[index].tasks = -1;
        cgroup->directories[index].v2 = hierarchy->v2;
        cgroup->count = index + 1;
        r = mkdir(path, DIRECTORY_MODE);
        /* Somebody may have tidied the idle parent away. */
        if (r < 0 && errno == ENOENT) {
                if (bh_cgroup_install_in(topology, parent, error) < 0)
                        return -1;
                r = mkdir(path, DIRECTORY_MODE);
        }
        if (r < 0)
                return bh_error_errno(error, errno, "make cgroup %s", path);
        cgroup->directories[index].fd = bh_cgroup_open(path);
        if (cgroup->directories[index].fd < 0)
                return bh_error_errno(error, errno, "open cgroup %s", path);
        if (hierarchy->v2)
                return 0;
        cgroup->directories[index].tasks =
                openat(cgroup->directories[index].fd, "tasks", O_WRONLY | O_CLOEXEC);
        if (cgroup->directories[index].tasks < 0)
                return bh_error_errno(error, errno, "open %s/tasks", path);
        return 0;
}

static int directory_of(const struct bh_cgroup *cgroup, enum bh_cgroup_role role)
{
        return cgroup->directories[cgroup->role[role]].fd;
}

/* The first control that a hierarchy serves, to name it when the hierarchy fails. */
static const char *control_of(const struct bh_cgroup_topology *topology, size_t hierarchy)
{
        int role = 0;

        while (role < BH_CGROUP_KILL && topology->role[role] != hierarchy)
                role++;
        return control_names[role];
}

static int read_cpu(const struct bh_cgroup *cgroup, int64_t *ret_us, struct bh_error *error)
{
        int directory = directory_of(cgroup, BH_CGROUP_CPU);

        return cgroup->layout == BH_CGROUP_V1 ? bh_cgroup_v1_cpu(directory, ret_us, error)
                                              : bh_cgroup_v2_cpu(directory, ret_us, error);
}

static int set_limits(const struct bh_cgroup *cgroup, const struct bh_limits *limits,
                      struct bh_error *error)
{
        int64_t bytes = limits->value[BH_LIMIT_MEMORY_BYTES];
        int memory = directory_of(cgroup, BH_CGROUP_MEMORY);
        int64_t cpu_us;

        if ((cgroup->layout == BH_CGROUP_V2 ? bh_cgroup_v2_set_memory(memory, bytes, error)
                                            : bh_cgroup_v1_set_memory(memory, bytes, error)) < 0)
                return bh_error_control(error, "cgroup.memory");
        if (bh_cgroup_set_pids(directory_of(cgroup, BH_CGROUP_PIDS), limits->value[BH_LIMIT_PIDS],
                               error) < 0)
                return bh_error_control(error, "cgroup.pids");
        /* Accounting has nothing to set; a CPU limit needs it to be readable. */
        if (read_cpu(cgroup, &cpu_us, error) < 0)
                return bh_error_control(error, "cgroup.cpu");
        if (cgroup->layout != BH_CGROUP_V1 &&
            faccessat(directory_of(cgroup, BH_CGROUP_KILL), "cgroup.kill", W_OK, 0) < 0) {
                bh_error_errno(error, errno, "cgroup.kill (Linux 5.14)");
                return bh_error_control(error, "cgroup.kill");
        }
        return 0;
}

int bh_cgroup_create_in(const struct bh_cgroup_topology *topology, const char *parent,
                        const char *id, const struct bh_limits *limits, struct bh_cgroup **ret,
                        struct bh_error *error)
{
        _cleanup_(bh_cgroup_cleanup) struct bh_cgroup *cgroup = bh_alloc(sizeof(*cgroup));

        if (bh_cgroup_check_name(parent, error) < 0 || bh_cgroup_check_name(id, error) < 0)
                return -1;
        cgroup->layout = topology->layout;
        memcpy(cgroup->role, topology->role, sizeof(cgroup->role));
        for (size_t i = 0; i < topology->count; i++) {
                if (make_directory(cgroup, i, topology, parent, id, error) < 0)
                        return bh_error_control(error, control_of(topology, i));
        }
        if (set_limits(cgroup, limits, error) < 0)
                return -1;
        *ret = bh_steal_ptr(&cgroup);
        return 0;
}

void bh_cgroup_free(struct bh_cgroup *cgroup)
{
        if (!cgroup)
                return;
        for (size_t i = 0; i < cgroup->count; i++) {
                free(cgroup->directories[i].path);
                bh_close(cgroup->directories[i].fd);
                bh_close(cgroup->directories[i].tasks);
        }
        free(cgroup);
}

int bh_cgroup_v2_fd(const struct bh_cgroup *cgroup)
{
        return cgroup->layout == BH_CGROUP_V1 ? -1 : directory_of(cgroup, BH_CGROUP_KILL);
}

int bh_cgroup_join_v1(const struct bh_cgroup *cgroup)
{
        for (size_t i = 0; i < cgroup->count; i++) {
                if (!cgroup->directories[i].v2 && write(cgroup->directories[i].tasks, "0", 1) < 0)
                        return -errno;
        }
        return 0;
}

int bh_cgroup_open_joins(const struct bh_cgroup *cgroup, int ret[BH_CGROUP_JOINS_MAX],
                         struct bh_error *error)
{
        int count = 0;

        _Static_assert(BH_CGROUP_ROLE_COUNT <= BH_CGROUP_JOINS_MAX, "a file for each hierarchy");
        for (size_t i = 0; i < cgroup->count; i++) {
                const char *file = cgroup->directories[i].v2 ? "cgroup.procs" : "tasks";
                int fd = openat(cgroup->directories[i].fd, file, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);

                if (fd < 0) {
                        bh_error_errno(error, errno, "open %s of %s", file,
                                       cgroup->directories[i].path);
                        while (count > 0)
                                bh_close(ret[--count]);
                        return -1;
                }
                ret[count++] = fd;
        }
        return count;
}

int bh_cgroup_usage(const struct bh_cgroup *cgroup, struct bh_usage *ret, struct bh_error *error)
{
        int memory = directory_of(cgroup, BH_CGROUP_MEMORY);
        struct bh_usage usage = {0};

        if (read_cpu(cgroup, &usage.cpu_us, error) < 0 ||
            (cgroup->layout == BH_CGROUP_V2 ? bh_cgroup_v2_memory(memory, &usage, error)
                                            : bh_cgroup_v1_memory(memory, &usage, error)) < 0)
                return -1;
        *ret = usage;
        return 0;
}

int bh_cgroup_kill(const struct bh_cgroup *cgroup, struct bh_error *error)
{
        int directory = directory_of(cgroup, BH_CGROUP_KILL);

        if (cgroup->layout == BH_CGROUP_V1)
                return bh_cgroup_v1_freeze_and_kill(directory, error);
        return bh_write_attribute(directory, "cgroup.kill", "1", error);
}

json_t *bh_cgroup_observe(const struct bh_cgroup *cgroup)
{
        int memory = directory_of(cgroup, BH_CGROUP_MEMORY);
        bool v2 = cgroup->layout == BH_CGROUP_V2;
        int64_t pids, us;
        json_t *pids_max = bh_cgroup_read_number(directory_of(cgroup, BH_CGROUP_PIDS), "pids.max",
                                                 &pids, NULL) < 0
                                   ? json_null()
                                   : json_integer(pids);
        json_t *cpu_us = read_cpu(cgroup, &us, NULL) < 0 ? json_null() : json_integer(us);

        return json_pack("{so s{so} s{so} ss ss ss}", "memory",
                         v2 ? bh_cgroup_v2_observe_memory(memory)
                            : bh_cgroup_v1_observe_memory(memory),
                         "pids", "max", pids_max, "cpu", "usage_us", cpu_us, "layout",
                         bh_cgroup_layout_name(cgroup->layout), "kill",
                         cgroup->layout == BH_CGROUP_V1 ? "freezer" : "cgroup.kill", "source",
                         cgroup->directories[cgroup->role[BH_CGROUP_MEMORY]].path);
}

/* ---- listing ---- */

static bool holds(char *const *names, size_t count, const char *name)
{
        for (size_t i = 0; i < count; i++) {
                if (strcmp(names[i], name) == 0)
                        return true;
        }
        return false;
}

static void free_names(char ***names)
{
        for (char **name = *names; name && *name; name++)
                free(*name);
        free(*names);
}

int bh_cgroup_list_in(const struct bh_cgroup_topology *topology, const char *parent, char ***ret,
                      struct bh_error *error)
{
        _cleanup_(free_names) char **names = bh_alloc_array(1, sizeof(*names));
        size_t count = 0;

        if (bh_cgroup_check_name(parent, error) < 0)
                return -1;
        for (size_t i = 0; i < topology->count; i++) {
                _cleanup_free_ char *path =
                        bh_format("%s/%s", topology->hierarchies[i].mount, parent);
                _cleanup_(close_directory) DIR *stream = opendir(path);
                struct dirent *entry;

                if (!stream && errno == ENOENT)
                        continue;
                if (!stream)
                        return bh_error_errno(error, errno, "list cgroup %s", path);
                while ((entry = readdir(stream))) {
                        if (entry->d_type != DT_DIR || entry->d_name[0] == '.' ||
                            holds(names, count, entry->d_name))
                                continue;
                        names = bh_realloc_array(names, count + 2, sizeof(*names));
                        names[count++] = bh_strdup(entry->d_name);
                        names[count] = NULL;
                }
        }
        *ret = bh_steal_ptr(&names);
        return 0;
}

/* ---- on the topology of this host ---- */

/* The one that the host comes with, or else what is read into room. NULL: neither. */
static const struct bh_cgroup_topology *topology_of(const struct bh_driver_host *host,
                                                    struct bh_cgroup_topology *room,
                                                    struct bh_error *error)
{
        if (host->cgroups)
                return host->cgroups;
        return bh_cgroup_topology_read(room, error) < 0 ? NULL : room;
}

int bh_cgroup_install(const struct bh_driver_host *host, struct bh_error *error)
{
        _cleanup_(bh_cgroup_topology_clear) struct bh_cgroup_topology room = {0};
        const struct bh_cgroup_topology *topology = topology_of(host, &room, error);

        if (!topology)
                return -1;
        return bh_cgroup_install_in(topology, host->cgroup_parent, error);
}

int bh_cgroup_uninstall(const struct bh_driver_host *host, struct bh_error *error)
{
        _cleanup_(bh_cgroup_topology_clear) struct bh_cgroup_topology room = {0};
        const struct bh_cgroup_topology *topology = topology_of(host, &room, error);

        if (!topology)
                return -1;
        return bh_cgroup_uninstall_in(topology, host->cgroup_parent, error);
}

int bh_cgroup_create(const struct bh_driver_host *host, const char *id,
                     const struct bh_limits *limits, struct bh_cgroup **ret, struct bh_error *error)
{
        _cleanup_(bh_cgroup_topology_clear) struct bh_cgroup_topology room = {0};
        const struct bh_cgroup_topology *topology = topology_of(host, &room, error);

        if (!topology)
                return -1;
        return bh_cgroup_create_in(topology, host->cgroup_parent, id, limits, ret, error);
}

int bh_cgroup_destroy(const struct bh_driver_host *host, const char *id, struct bh_error *error)
{
        _cleanup_(bh_cgroup_topology_clear) struct bh_cgroup_topology room = {0};
        const struct bh_cgroup_topology *topology = topology_of(host, &room, error);

        if (!topology)
                return -1;
        return bh_cgroup_destroy_in(topology, host->cgroup_parent, id, error);
}

int bh_cgroup_list(const struct bh_driver_host *host, char ***ret, struct bh_error *error)
{
        _cleanup_(bh_cgroup_topology_clear) struct bh_cgroup_topology room = {0};
        const struct bh_cgroup_topology *topology = topology_of(host, &room, error);

        if (!topology)
                return -1;
        return bh_cgroup_list_in(topology, host->cgroup_parent, ret, error);
}
