/* See sentry.h. */
#include "drivers/container/sentry.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

#define FIELD_MAX    64
#define CHILDREN_MAX 4096
#define PATH_ROOM    64

static int differs(struct bh_error *error, const char *what, const char *seen)
{
        return bh_error_set(error, BH_ERROR_SYSTEM, "%s is %s", what, seen);
}

/* ---- finding the gofer ---- */

BH_DEFINE_CLEANUP(DIR *, close_directory, closedir);

/* Decimal pids, each with a space behind (proc_tid_children(5)). 0 when all are the sentry's. */
static pid_t other_child(char *text, pid_t sentry)
{
        for (char *word = text, *end; *word; word = end) {
                long pid = strtol(word, &end, 10);

                if (end == word)
                        break;
                if (pid != sentry)
                        return (pid_t)pid;
        }
        return 0;
}

/* Its children are listed by thread. */
int bh_sentry_find_gofer(const struct bh_pidref *manager, const struct bh_pidref *sentry,
                         pid_t *ret, struct bh_error *error)
{
        char path[PATH_ROOM];
        _cleanup_(close_directory_cleanup) DIR *tasks = NULL;
        struct dirent *task;

        snprintf(path, sizeof(path), "/proc/%d/task", manager->pid);
        tasks = opendir(path);
        if (!tasks)
                return bh_error_errno(error, errno, "look for the gofer");
        while ((task = readdir(tasks))) {
                _cleanup_free_ char *text = NULL;
                char file[sizeof(task->d_name) + sizeof("/children")];
                size_t size;
                pid_t found;

                snprintf(file, sizeof(file), "%s/children", task->d_name);
                if (task->d_name[0] == '.' ||
                    bh_read_file(dirfd(tasks), file, CHILDREN_MAX, &text, &size, NULL) < 0)
                        continue;
                found = other_child(text, sentry->pid);
                if (found > 0) {
                        *ret = found;
                        return 0;
                }
        }
        return bh_error_set(error, BH_ERROR_NOT_FOUND, "the gofer is not there");
}

/* ---- comparisons ---- */

/* A field of both processes' status. */
static int check_both(const struct bh_view *view, const char *field, const char *wanted,
                      json_t *observed, struct bh_error *error)
{
        char sentry[FIELD_MAX], gofer[FIELD_MAX];

        if (bh_readback_status(&view->init, field, sentry, sizeof(sentry), error) < 0 ||
            bh_readback_status(&view->workload, field, gofer, sizeof(gofer), error) < 0)
                return -1;
        json_object_set_new(observed, field,
                            json_pack("{ss ss}", "sentry", sentry, "gofer", gofer));
        if (!wanted)
                return 0;
        if (strcmp(sentry, wanted) != 0)
                return bh_error_set(error, BH_ERROR_SYSTEM, "the sentry's %s is %s", field, sentry);
        if (strcmp(gofer, wanted) != 0)
                return bh_error_set(error, BH_ERROR_SYSTEM, "the gofer's %s is %s", field, gofer);
        return 0;
}

/* What the guest's kernel said of the workload's process. */
static int check_told(const struct bh_view *view, const char *field, const char *wanted,
                      json_t *observed, struct bh_error *error)
{
        const char *seen = json_string_value(json_object_get(view->told, field));
        json_t *guest = json_object_get(observed, "guest");

        if (!guest) {
                guest = json_object();
                json_object_set_new(observed, "guest", guest);
        }
        if (!seen)
                return bh_error_set(error, BH_ERROR_SYSTEM, "the guest tells no %s", field);
        json_object_set_new(guest, field, json_string(seen));
        if (strcmp(seen, wanted) != 0)
                return bh_error_set(error, BH_ERROR_SYSTEM, "the guest's %s is %s", field, seen);
        return 0;
}

/* ---- readers ---- */

static int namespace_of(const struct bh_view *view, const struct bh_readback *process,
                        const char *who, json_t *observed, struct bh_error *error)
{
        const char *name = strchr(view->control, '.') + 1;
        ino_t seen, own;

        name = strcmp(name, "mount") == 0 ? "mnt" : name;
        if (bh_readback_namespace(process, name, &seen, error) < 0 ||
            bh_readback_namespace(&view->self, name, &own, error) < 0)
                return -1;
        json_object_set_new(observed, who, json_integer((json_int_t)seen));
        return seen == own ? bh_error_set(error, BH_ERROR_SYSTEM, "the %s is in our %s namespace",
                                          who, name)
                           : 0;
}

int bh_sentry_read_namespace(const struct bh_view *view, json_t **ret, struct bh_error *error)
{
        json_t *observed = *ret = json_object();

        if (namespace_of(view, &view->init, "sentry", observed, error) < 0)
                return -1;
        return namespace_of(view, &view->workload, "gofer", observed, error);
}

/* The gofer sees the tree that it serves, and runs nothing in it. */
int bh_sentry_read_root(const struct bh_view *view, json_t **ret, struct bh_error *error)
{
        static const char *const writable[] = {"/tmp", "/dev/shm"};
        const struct bh_mount_table *table = &view->workload.mounts;
        json_t *observed = *ret = json_array();

        for (size_t i = 0; i < table->count; i++) {
                const struct bh_mount_entry *entry = &table->entries[i];
                bool may = strcmp(entry->target, "/workspace") == 0 &&
                           view->expected->workspace_writable;

                json_array_append_new(observed,
                                      json_pack("{ss ss ss}", "target", entry->target, "type",
                                                entry->type, "options", entry->options));
                for (size_t k = 0; k < sizeof(writable) / sizeof(writable[0]); k++)
                        may = may || strcmp(entry->target, writable[k]) == 0;
                if (!may && !bh_mount_option(entry->options, "ro"))
                        return bh_error_set(error, BH_ERROR_SYSTEM, "%s is mounted without ro",
                                            entry->target);
        }
        return bh_mount_table_find(table, "/")
                       ? 0
                       : bh_error_set(error, BH_ERROR_SYSTEM, "no root in the mount table");
}

static int check_id(const struct bh_readback *process, const char *who, const char *field, uid_t id,
                    json_t *observed, struct bh_error *error)
{
        char seen[FIELD_MAX], wanted[FIELD_MAX];

        if (bh_readback_status(process, field, seen, sizeof(seen), error) < 0)
                return -1;
        json_object_set_new(observed, who, json_string(seen));
        snprintf(wanted, sizeof(wanted), "%u %u %u %u", id, id, id, id);
        return strcmp(seen, wanted) == 0 ? 0 : differs(error, who, seen);
}

/* The workload is uid 1000 for its own kernel, and that kernel the workload's uid for ours. */
int bh_sentry_read_uid(const struct bh_view *view, json_t **ret, struct bh_error *error)
{
        const struct bh_expected *expected = view->expected;
        json_t *observed = *ret = json_object();
        char inside[FIELD_MAX];

        snprintf(inside, sizeof(inside), "%u\t%u\t%u\t%u", expected->inside_uid,
                 expected->inside_uid, expected->inside_uid, expected->inside_uid);
        if (check_id(&view->init, "sentry", "Uid", expected->workload_uid, observed, error) < 0 ||
            check_id(&view->workload, "gofer", "Uid", expected->init_uid, observed, error) < 0 ||
            check_told(view, "Uid", inside, observed, error) < 0)
                return -1;
        return check_told(view, "Gid", inside, observed, error);
}

/* The workload has none. gVisor's processes keep a few that reach no further than the user
 * namespace that each is in, which is not the host's. */
int bh_sentry_read_capabilities(const struct bh_view *view, json_t **ret, struct bh_error *error)
{
        static const char *const sets[] = {"CapInh", "CapPrm", "CapEff", "CapBnd"};
        json_t *observed = *ret = json_object();
        ino_t own, sentry, gofer;

        for (size_t i = 0; i < sizeof(sets) / sizeof(sets[0]); i++) {
                if (check_told(view, sets[i], "0000000000000000", observed, error) < 0)
                        return -1;
        }
        if (check_both(view, "CapEff", NULL, observed, error) < 0 ||
            bh_readback_namespace(&view->self, "user", &own, error) < 0 ||
            bh_readback_namespace(&view->init, "user", &sentry, error) < 0 ||
            bh_readback_namespace(&view->workload, "user", &gofer, error) < 0)
                return -1;
        return sentry == own || gofer == own
                       ? differs(error, "gVisor's user namespace", "the host's")
                       : 0;
}

int bh_sentry_read_no_new_privs(const struct bh_view *view, json_t **ret, struct bh_error *error)
{
        *ret = json_object();
        return check_both(view, "NoNewPrivs", "1", *ret, error);
}

/* Two filters: gVisor's own, between it and the host's kernel, and ours, between the workload and
 * gVisor. */
int bh_sentry_read_seccomp(const struct bh_view *view, json_t **ret, struct bh_error *error)
{
        json_t *observed = *ret = json_object();

        if (check_both(view, "Seccomp", "2", observed, error) < 0 ||
            check_told(view, "Seccomp", "2", observed, error) < 0)
                return -1;
        json_object_set_new(observed, "filter", json_string(view->expected->seccomp_digest));
        return 0;
}

/* The sentry's namespace, which is all that a workload could come out to. */
int bh_sentry_read_gateway(const struct bh_view *view, json_t **ret, struct bh_error *error)
{
        struct bh_view sentry = *view;

        sentry.workload = view->init;
        return bh_read_gateway(&sentry, ret, error);
}

/* Counted by the workload's process itself, just before its program: 0-2, the channel, and the
 * directory that it counts in. After that they are the workload's own. */
int bh_sentry_read_descriptors(const struct bh_view *view, json_t **ret, struct bh_error *error)
{
        *ret = json_object();
        return check_told(view, "Descriptors", "0 1 2 3", *ret, error);
}
