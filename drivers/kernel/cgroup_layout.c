/* Finds the cgroup hierarchies of this host; see cgroup_layout.h. */
#include "drivers/kernel/cgroup_layout.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"

#define MOUNTINFO_BYTES_MAX ((size_t)4 << 20)
#define ATTRIBUTE_BYTES_MAX 4096
#define MOUNTINFO_ROOT      3 /* fields, counted from 0 (proc_pid_mountinfo(5)) */
#define MOUNTINFO_POINT     4

/* One hierarchy as found, before it is known whether it is needed. */
struct found {
        char *mount;
        char *options; /* super block options: the controllers of a v1 hierarchy */
};

struct finds {
        struct found v2;
        struct found v1[16]; /* the kernel has fewer controllers than this */
        size_t v1_count;
};

static void finds_clear(struct finds *finds)
{
        free(finds->v2.mount);
        free(finds->v2.options);
        for (size_t i = 0; i < finds->v1_count; i++) {
                free(finds->v1[i].mount);
                free(finds->v1[i].options);
        }
}

/* Undoes the \ooo escapes of mountinfo in place. */
static void unescape(char *text)
{
        char *to = text;

        for (const char *from = text; *from; to++) {
                if (from[0] == '\\' && strspn(from + 1, "01234567") >= 3) {
                        *to = (char)((from[1] - '0') * 64 + (from[2] - '0') * 8 + from[3] - '0');
                        from += 4;
                } else {
                        *to = *from++;
                }
        }
        *to = '\0';
}

/* Takes one line apart (and up). Mounts of a part of a hierarchy are left out: limits are set
 * from its root. */
static void read_line(char *line, struct finds *finds)
{
        char *fields[MOUNTINFO_POINT + 1] = {0};
        char *rest = strstr(line, " - "), *save = NULL, *type, *options;
        struct found *slot;
        size_t count = 0;

        if (!rest)
                return;
        *rest = '\0';
        for (char *field = strtok_r(line, " ", &save); field && count <= MOUNTINFO_POINT;
             field = strtok_r(NULL, " ", &save))
                fields[count++] = field;
        type = strtok_r(rest + 3, " ", &save);
        if (!type || !strtok_r(NULL, " ", &save))
                return;
        options = strtok_r(NULL, " ", &save);
        if (!options || count <= MOUNTINFO_POINT || strcmp(fields[MOUNTINFO_ROOT], "/") != 0)
                return;
        if (strcmp(type, "cgroup2") == 0 && !finds->v2.mount)
                slot = &finds->v2;
        else if (strcmp(type, "cgroup") == 0 &&
                 finds->v1_count < sizeof(finds->v1) / sizeof(finds->v1[0]))
                slot = &finds->v1[finds->v1_count++];
        else
                return;
        unescape(fields[MOUNTINFO_POINT]);
        slot->mount = bh_strdup(fields[MOUNTINFO_POINT]);
        slot->options = bh_strdup(options);
}

/* true when word stands in list between separators. */
static bool has_word(const char *list, const char *word, const char *separators)
{
        size_t size = strlen(word);

        for (const char *at = list; *at;) {
                size_t span = strcspn(at, separators);

                if (span == size && memcmp(at, word, size) == 0)
                        return true;
                at += span;
                at += strspn(at, separators);
        }
        return false;
}

static const char *v1_mount(const struct finds *finds, const char *controller)
{
        for (size_t i = 0; i < finds->v1_count; i++) {
                if (has_word(finds->v1[i].options, controller, ","))
                        return finds->v1[i].mount;
        }
        return NULL;
}

static void assign(struct bh_cgroup_topology *topology, enum bh_cgroup_role role, const char *mount,
                   bool v2)
{
        size_t i = 0;

        while (i < topology->count && strcmp(topology->hierarchies[i].mount, mount) != 0)
                i++;
        if (i == topology->count) {
                topology->hierarchies[i] =
                        (struct bh_cgroup_hierarchy){.mount = bh_strdup(mount), .v2 = v2};
                topology->count++;
        }
        topology->role[role] = i;
}

static int missing(struct bh_error *error, const char *control, const char *what)
{
        bh_error_errno(error, ENODEV, "no cgroup hierarchy has %s", what);
        return bh_error_control(error, control);
}

/* v1 controllers. Where a v2 tree stands beside them, killing and CPU accounting are its own:
 * both need no controller (cgroup-v2.rst, "cpu.stat"), and every hierarchy less is a directory
 * less to make for each execution. */
static int decide_v1(const struct finds *finds, struct bh_cgroup_topology *topology,
                     struct bh_error *error)
{
        const char *memory = v1_mount(finds, "memory");
        const char *pids = v1_mount(finds, "pids");
        const char *cpu = v1_mount(finds, "cpuacct");
        const char *share = v1_mount(finds, "cpu");
        const char *freezer = v1_mount(finds, "freezer");

        if (!memory)
                return missing(error, "cgroup.memory", "the memory controller");
        if (!pids)
                return missing(error, "cgroup.pids", "the pids controller");
        if (!finds->v2.mount && !cpu)
                return missing(error, "cgroup.cpu", "cpu.stat or the cpuacct controller");
        if (!finds->v2.mount && !freezer)
                return missing(error, "cgroup.kill", "cgroup.kill or a freezer");
        topology->layout = finds->v2.mount ? BH_CGROUP_HYBRID : BH_CGROUP_V1;
        if (finds->v2.mount)
                assign(topology, BH_CGROUP_KILL, finds->v2.mount, true);
        else
                assign(topology, BH_CGROUP_KILL, freezer, false);
        if (finds->v2.mount)
                assign(topology, BH_CGROUP_CPU, finds->v2.mount, true);
        else
                assign(topology, BH_CGROUP_CPU, cpu, false);
        assign(topology, BH_CGROUP_MEMORY, memory, false);
        assign(topology, BH_CGROUP_PIDS, pids, false);
        /* A kernel without group scheduling has none to give: every process counts for one. */
        if (share)
                assign(topology, BH_CGROUP_SHARE, share, false);
        else
                topology->role[BH_CGROUP_SHARE] = topology->role[BH_CGROUP_CPU];
        return 0;
}

/* Reads which controllers the v2 tree has to give; "" when there is no tree. */
static int v2_controllers(const struct finds *finds, char **ret, struct bh_error *error)
{
        _cleanup_free_ char *path = NULL;

        if (!finds->v2.mount) {
                *ret = bh_strdup("");
                return 0;
        }
        path = bh_format("%s/cgroup.controllers", finds->v2.mount);
        return bh_read_file(AT_FDCWD, path, ATTRIBUTE_BYTES_MAX, ret, NULL, error);
}

int bh_cgroup_topology_decide(const char *mountinfo, struct bh_cgroup_topology *ret,
                              struct bh_error *error)
{
        _cleanup_(bh_cgroup_topology_clear) struct bh_cgroup_topology topology = {0};
        _cleanup_(finds_clear) struct finds finds = {0};
        _cleanup_free_ char *text = bh_strdup(mountinfo);
        _cleanup_free_ char *controllers = NULL;
        char *save = NULL;

        for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
                read_line(line, &finds);
        if (v2_controllers(&finds, &controllers, error) < 0)
                return -1;
        if (finds.v2.mount && has_word(controllers, "memory", " \n") &&
            has_word(controllers, "pids", " \n") && has_word(controllers, "cpu", " \n")) {
                topology.layout = BH_CGROUP_V2;
                for (int role = 0; role < BH_CGROUP_ROLE_COUNT; role++)
                        assign(&topology, (enum bh_cgroup_role)role, finds.v2.mount, true);
        } else if (decide_v1(&finds, &topology, error) < 0) {
                return -1;
        }
        *ret = topology;
        topology = (struct bh_cgroup_topology){0};
        return 0;
}

int bh_cgroup_topology_read(struct bh_cgroup_topology *ret, struct bh_error *error)
{
        _cleanup_free_ char *mountinfo = NULL;

        if (bh_read_file(AT_FDCWD, "/proc/self/mountinfo", MOUNTINFO_BYTES_MAX, &mountinfo, NULL,
                         error) < 0)
                return -1;
        return bh_cgroup_topology_decide(mountinfo, ret, error);
}

void bh_cgroup_topology_clear(struct bh_cgroup_topology *topology)
{
        for (size_t i = 0; i < topology->count; i++)
                free(topology->hierarchies[i].mount);
        *topology = (struct bh_cgroup_topology){0};
}

const char *bh_cgroup_layout_name(enum bh_cgroup_layout layout)
{
        static const char *const names[] = {
                [BH_CGROUP_V2] = "v2", [BH_CGROUP_V1] = "v1", [BH_CGROUP_HYBRID] = "hybrid"};

        return names[layout];
}

int bh_cgroup_layout(enum bh_cgroup_layout *ret, struct bh_error *error)
{
        _cleanup_(bh_cgroup_topology_clear) struct bh_cgroup_topology topology = {0};

        if (bh_cgroup_topology_read(&topology, error) < 0)
                return -1;
        *ret = topology.layout;
        return 0;
}
