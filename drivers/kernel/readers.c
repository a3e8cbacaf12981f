/* Readers of what the boundary's processes are; see readers.h. */
#include "drivers/kernel/readers.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"

#define FIELD_MAX  64 /* of a field of status that is compared */
#define CHANNEL_FD 3
#define STANDARD   3 /* descriptors that a workload has */

static int differs(struct bh_error *error, const char *what, const char *seen)
{
        return bh_error_set(error, BH_ERROR_SYSTEM, "%s is %s", what, seen);
}

/* ---- namespaces ---- */

/* "namespace.mount" → "mnt", the others by their own name. */
static const char *namespace_name(const char *control)
{
        const char *name = strchr(control, '.') + 1;

        return strcmp(name, "mount") == 0 ? "mnt" : name;
}

/* Root's limits are the host's. */
static int check_owner(const struct bh_view *view, json_t *observed, struct bh_error *error)
{
        uid_t owner;

        if (bh_readback_namespace_owner(&view->workload, &owner, error) < 0)
                return -1;
        json_object_set_new(observed, "owner", json_integer(owner));
        if (owner != view->expected->workload_uid)
                return bh_error_set(error, BH_ERROR_SYSTEM, "the user namespace belongs to uid %u",
                                    owner);
        return 0;
}

int bh_read_namespace(const struct bh_view *view, json_t **ret, struct bh_error *error)
{
        const char *name = namespace_name(view->control);
        ino_t seen, own;

        if (bh_readback_namespace(&view->workload, name, &seen, error) < 0 ||
            bh_readback_namespace(&view->self, name, &own, error) < 0)
                return -1;
        *ret = json_pack("{sI}", "id", (json_int_t)seen);
        if (seen == own)
                return bh_error_set(error, BH_ERROR_SYSTEM, "the workload is in our %s namespace",
                                    name);
        if (strcmp(name, "net") == 0 && seen != view->expected->gateway)
                return bh_error_set(error, BH_ERROR_SYSTEM, "the workload is not in its gateway");
        return strcmp(name, "user") == 0 ? check_owner(view, *ret, error) : 0;
}

/* ---- identity ---- */

/* A map file has lines of three columns (proc_pid_uid_map(5)): the workload's, and before it
 * init's where both are in one user namespace. */
static int check_map(const struct bh_view *view, const char *file, unsigned inside, uid_t outside,
                     json_t *observed, struct bh_error *error)
{
        _cleanup_free_ char *seen = NULL;
        char wanted[2 * FIELD_MAX];
        int init = 0;

        if (bh_readback_file(&view->workload, file, &seen, error) < 0)
                return -1;
        json_object_set_new(observed, file, json_string(seen));
        if (view->expected->init_mapped)
                init = snprintf(wanted, sizeof(wanted), "%10u %10u %10u\n", 0U,
                                view->expected->init_uid, 1U);
        snprintf(wanted + init, sizeof(wanted) - (size_t)init, "%10u %10u %10u\n", inside, outside,
                 1U);
        return strcmp(seen, wanted) == 0 ? 0 : differs(error, file, seen);
}

/* Uid and Gid have four columns: real, effective, saved, file system. */
static int check_ids(const struct bh_readback *process, const char *field, uid_t id,
                     json_t *observed, struct bh_error *error)
{
        char seen[FIELD_MAX], wanted[FIELD_MAX];

        if (bh_readback_status(process, field, seen, sizeof(seen), error) < 0)
                return -1;
        if (observed)
                json_object_set_new(observed, field, json_string(seen));
        snprintf(wanted, sizeof(wanted), "%u %u %u %u", id, id, id, id);
        return strcmp(seen, wanted) == 0 ? 0 : differs(error, field, seen);
}

int bh_read_uid(const struct bh_view *view, json_t **ret, struct bh_error *error)
{
        const struct bh_expected *expected = view->expected;
        char groups[FIELD_MAX];
        json_t *observed = *ret = json_object();

        if (check_ids(&view->workload, "Uid", expected->workload_uid, observed, error) < 0 ||
            check_ids(&view->workload, "Gid", expected->workload_uid, observed, error) < 0 ||
            check_ids(&view->init, "Uid", expected->init_uid, NULL, error) < 0 ||
            check_ids(&view->init, "Gid", expected->init_uid, NULL, error) < 0 ||
            check_map(view, "uid_map", expected->inside_uid, expected->workload_uid, observed,
                      error) < 0 ||
            check_map(view, "gid_map", expected->inside_gid, expected->workload_uid, observed,
                      error) < 0 ||
            bh_readback_status(&view->workload, "Groups", groups, sizeof(groups), error) < 0)
                return -1;
        return groups[0] == '\0' ? 0 : differs(error, "Groups", groups);
}

/* ---- privileges ---- */

static bool all_zero(const char *hex)
{
        return *hex && strspn(hex, "0") == strlen(hex);
}

int bh_read_capabilities(const struct bh_view *view, json_t **ret, struct bh_error *error)
{
        static const char *const sets[] = {"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"};
        json_t *observed = *ret = json_object();

        for (size_t i = 0; i < sizeof(sets) / sizeof(sets[0]); i++) {
                char workload[FIELD_MAX], init[FIELD_MAX];

                if (bh_readback_status(&view->workload, sets[i], workload, sizeof(workload),
                                       error) < 0 ||
                    bh_readback_status(&view->init, sets[i], init, sizeof(init), error) < 0)
                        return -1;
                json_object_set_new(observed, sets[i], json_string(workload));
                if (!all_zero(workload))
                        return differs(error, sets[i], workload);
                if (!all_zero(init))
                        return differs(error, "init's set", init);
        }
        return 0;
}

static int check_field(const struct bh_readback *process, const char *field, const char *wanted,
                       json_t **ret, struct bh_error *error)
{
        char seen[FIELD_MAX];

        if (bh_readback_status(process, field, seen, sizeof(seen), error) < 0)
                return -1;
        if (ret)
                *ret = json_pack("{ss}", field, seen);
        return strcmp(seen, wanted) == 0 ? 0 : differs(error, field, seen);
}

int bh_read_no_new_privs(const struct bh_view *view, json_t **ret, struct bh_error *error)
{
        if (check_field(&view->workload, "NoNewPrivs", "1", ret, error) < 0)
                return -1;
        return check_field(&view->init, "NoNewPrivs", "1", NULL, error);
}

/* Mode 2 is "filter" (proc(5)); the digest names the program that our own child loaded. */
int bh_read_seccomp(const struct bh_view *view, json_t **ret, struct bh_error *error)
{
        int result = check_field(&view->workload, "Seccomp", "2", ret, error);

        if (*ret)
                json_object_set_new(*ret, "filter", json_string(view->expected->seccomp_digest));
        return result;
}

/* /proc does not tell about Landlock. The workload's process has tried, in its own domain, what
 * Landlock is the first to refuse, and would not have come this far with another answer. */
int bh_read_landlock(const struct bh_view *view, json_t **ret, struct bh_error *error)
{
        int abi = view->expected->landlock_abi;

        *ret = json_pack("{si ss}", "abi", abi, "attempt", abi > 0 ? "refused" : "none");
        return abi > 0 ? 0 : differs(error, "the Landlock ABI", "unknown");
}

/* ---- cgroup ---- */

static bool ends_with(const char *text, size_t length, const char *suffix)
{
        size_t size = strlen(suffix);

        return length >= size && strncmp(text + length - size, suffix, size) == 0;
}

/* Whether a line "id:controllers:path" is of a hierarchy that the control needs: the unified
 * one ("0::"), or a v1 one that names its controller. */
static bool line_counts(const char *line, const char *controller)
{
        const char *names = strchr(line, ':');
        size_t length, size = strlen(controller);

        if (!names)
                return false;
        names++;
        for (; *names && *names != ':'; names += length + (names[length] == ',')) {
                length = strcspn(names, ",:\n");
                if (length == size && strncmp(names, controller, size) == 0)
                        return true;
        }
        return strncmp(line, "0::", 3) == 0;
}

/* The workload is in our cgroup in every hierarchy that matters, and in one at least. */
static int check_membership(const struct bh_view *view, const char *controller,
                            struct bh_error *error)
{
        const char *line = view->membership;
        int found = 0;

        while (*line) {
                size_t length = strcspn(line, "\n");

                if (line_counts(line, controller)) {
                        if (!ends_with(line, length, view->expected->cgroup_path))
                                return bh_error_set(error, BH_ERROR_SYSTEM,
                                                    "the workload's cgroup is %.*s", (int)length,
                                                    line);
                        found++;
                }
                line += length + (line[length] == '\n');
        }
        return found ? 0 : differs(error, "/proc/<pid>/cgroup", "without such a hierarchy");
}

/* bh_cgroup_create has compared the limits with the files; here is what they say now. */
int bh_read_cgroup(const struct bh_view *view, json_t **ret, struct bh_error *error)
{
        const char *controller = strchr(view->control, '.') + 1;
        json_t *seen = json_object_get(view->cgroup, controller);

        if (!seen || json_is_null(seen))
                return differs(error, view->control, "unreadable");
        *ret = json_incref(seen);
        /* Killing goes by the unified hierarchy; where there is none, by the freezer's. */
        if (json_is_string(seen) && strcmp(json_string_value(seen), "freezer") == 0)
                controller = "freezer";
        else if (strcmp(controller, "cpu") == 0 &&
                 strcmp(json_string_value(json_object_get(view->cgroup, "layout")), "v1") == 0)
                controller = "cpuacct";
        else if (strcmp(controller, "cpu") == 0)
                controller = "cpu.stat"; /* no controller: the unified hierarchy's own */
        return check_membership(view, controller, error);
}

/* ---- gateway ---- */

/* Whether every line after `skip` of a table in net/ ends or begins with lo's name. */
static int check_only_lo(const struct bh_view *view, const char *file, int skip, json_t *observed,
                         struct bh_error *error)
{
        _cleanup_free_ char *text = NULL;
        json_t *others = json_array();

        json_object_set_new(observed, file, others);
        if (bh_readback_file(&view->workload, file, &text, error) < 0) {
                /* A kernel without IPv6 has no such table, and no such route. */
                return error && error->errnum == ENOENT && strstr(file, "ipv6") ? 0 : -1;
        }
        for (char *line = text, *end; (end = strchr(line, '\n')); line = end + 1) {
                *end = '\0';
                if (skip-- > 0)
                        continue;
                line += strspn(line, " ");
                if (strncmp(line, "lo:", 3) == 0 || strncmp(line, "lo\t", 3) == 0 ||
                    ends_with(line, strlen(line), " lo"))
                        continue;
                json_array_append_new(others, json_string(line));
        }
        if (json_array_size(others) > 0)
                return differs(error, file, json_string_value(json_array_get(others, 0)));
        return 0;
}

/* Nothing but lo, and no route that leaves it. Two header lines in dev, one in route. */
int bh_read_gateway(const struct bh_view *view, json_t **ret, struct bh_error *error)
{
        json_t *observed = *ret = json_object();

        if (check_only_lo(view, "net/dev", 2, observed, error) < 0 ||
            check_only_lo(view, "net/route", 1, observed, error) < 0)
                return -1;
        return check_only_lo(view, "net/ipv6_route", 0, observed, error);
}

/* ---- descriptors ---- */

/* Before execve: 0-2 and the channel, which execve closes. After it, what the workload has open
 * is its own. */
int bh_read_descriptors(const struct bh_view *view, json_t **ret, struct bh_error *error)
{
        int seen[8], count;
        unsigned flags;

        *ret = json_pack("{s[iii]}", "before_exec", 0, 1, 2);
        if (view->expected->running)
                return 0;
        count = bh_readback_descriptors(&view->workload, seen, sizeof(seen) / sizeof(seen[0]),
                                        error);
        if (count < 0)
                return -1;
        for (int i = 0; i < count && i < (int)(sizeof(seen) / sizeof(seen[0])); i++) {
                if (seen[i] != i || i > CHANNEL_FD)
                        return bh_error_set(error, BH_ERROR_SYSTEM, "descriptor %d is open",
                                            seen[i]);
        }
        if (count != STANDARD + 1)
                return bh_error_set(error, BH_ERROR_SYSTEM, "%d descriptors are open", count);
        if (bh_readback_descriptor_flags(&view->workload, CHANNEL_FD, &flags, error) < 0)
                return -1;
        return flags & O_CLOEXEC ? 0
                                 : bh_error_set(error, BH_ERROR_SYSTEM,
                                                "execve would not close descriptor %d", CHANNEL_FD);
}
