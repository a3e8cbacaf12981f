/* Readers of what the workload sees: its mount table, whole, and the sizes behind it. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/alloc.h"
#include "drivers/kernel/image.h"
#include "drivers/kernel/mounts.h"
#include "drivers/kernel/readers.h"

/* An image's own directories are in its count, and sizes are rounded up to pages. */
#define IMAGE_SLACK ((int64_t)64 << 10)
#define PAGE_SLACK  ((int64_t)64 << 10)

/* Read-only and a file that is no program, or an empty directory: runtimes mount them plainly. */
static bool is_mask(const char *target)
{
        return strncmp(target, "/proc/", 6) == 0;
}

static bool is_proc(const char *target)
{
        return strcmp(target, "/proc") == 0 || is_mask(target);
}

/* The agent's mount that target is part of: itself, or what was mounted below its source. */
static const struct bh_mount_rule *find_rule(const struct bh_view *view, const char *target)
{
        const struct bh_mount_rules *rules = &view->expected->mounts;

        for (size_t i = 0; i < rules->count; i++) {
                if (bh_path_is_below(target, rules->items[i].target))
                        return &rules->items[i];
        }
        return NULL;
}

/* The mounts that may be written to: why each is, docs/architecture.md says. */
static bool may_be_writable(const struct bh_view *view, const char *target)
{
        const struct bh_mount_rule *rule = find_rule(view, target);

        if (rule)
                return rule->writable;
        if (strcmp(target, "/workspace") == 0)
                return view->expected->workspace_writable;
        return strcmp(target, "/tmp") == 0 || strcmp(target, "/dev/shm") == 0 ||
               strcmp(target, "/proc") == 0;
}

/* A mask of /dev/null has /dev's options; no other device node is below /proc. */
static bool may_have_devices(const char *target)
{
        return strcmp(target, "/dev") == 0 || is_proc(target);
}

static int check_mount(const struct bh_view *view, const struct bh_mount_entry *entry,
                       struct bh_error *error)
{
        const char *missing = NULL;

        if (!bh_mount_option(entry->options, "ro") && !may_be_writable(view, entry->target))
                missing = "ro";
        else if (!bh_mount_option(entry->options, "nosuid") && !is_mask(entry->target))
                missing = "nosuid";
        else if (!bh_mount_option(entry->options, "nodev") && !may_have_devices(entry->target))
                missing = "nodev";
        return missing ? bh_error_set(error, BH_ERROR_SYSTEM, "%s is mounted without %s",
                                      entry->target, missing)
                       : 0;
}

/* The whole table, so that a mount that nobody thought of is seen. */
int bh_read_root(const struct bh_view *view, json_t **ret, struct bh_error *error)
{
        const struct bh_mount_table *table = &view->workload.mounts;
        const struct bh_mount_entry *root = bh_mount_table_find(table, "/");
        json_t *observed = *ret = json_array();
        int result = 0;

        for (size_t i = 0; i < table->count; i++) {
                const struct bh_mount_entry *entry = &table->entries[i];

                json_array_append_new(observed,
                                      json_pack("{ss ss ss}", "target", entry->target, "type",
                                                entry->type, "options", entry->options));
                if (result == 0)
                        result = check_mount(view, entry, error);
        }
        if (!root)
                return bh_error_set(error, BH_ERROR_SYSTEM, "no root in the mount table");
        return result;
}

static json_t *mount_json(const struct bh_mount_entry *entry)
{
        return entry ? json_pack("{ss ss ss}", "type", entry->type, "options", entry->options,
                                 "file_system", entry->super_options)
                     : json_null();
}

int bh_read_proc(const struct bh_view *view, json_t **ret, struct bh_error *error)
{
        const struct bh_mount_entry *proc = bh_mount_table_find(&view->workload.mounts, "/proc");
        int masked = 0;

        *ret = mount_json(proc);
        if (!proc || strcmp(proc->type, "proc") != 0 ||
            !bh_mount_option(proc->super_options, "hidepid=invisible"))
                return bh_error_set(error, BH_ERROR_SYSTEM, "/proc does not hide processes");
        for (const struct bh_proc_entry *entry = bh_proc_masked; entry->path; entry++) {
                const struct bh_mount_entry *mask =
                        bh_mount_table_find(&view->workload.mounts, entry->path);

                if (mask && bh_mount_option(mask->options, "ro"))
                        masked++;
                else if (mask ||
                         access(entry->path, F_OK) == 0) /* our /proc is the same kernel's */
                        return bh_error_set(error, BH_ERROR_SYSTEM, "%s is not masked",
                                            entry->path);
        }
        json_object_set_new(*ret, "masked", json_integer(masked));
        return 0;
}

int bh_read_dev(const struct bh_view *view, json_t **ret, struct bh_error *error)
{
        const struct bh_mount_table *table = &view->workload.mounts;
        const struct bh_mount_entry *dev = bh_mount_table_find(table, "/dev");

        *ret = mount_json(dev);
        if (!dev || strcmp(dev->type, "tmpfs") != 0 || !bh_mount_option(dev->options, "ro"))
                return bh_error_set(error, BH_ERROR_SYSTEM, "/dev is not our own");
        for (size_t i = 0; i < table->count; i++) {
                const char *target = table->entries[i].target;

                if (strcmp(table->entries[i].type, "devpts") == 0 ||
                    strcmp(table->entries[i].type, "devtmpfs") == 0)
                        return bh_error_set(error, BH_ERROR_SYSTEM, "%s shows host devices",
                                            target);
        }
        return 0;
}

/* Compares what the file system at a place of the workload's can hold with what it should. A
 * tmpfs without a limit says 0. */
static int check_size(const struct bh_view *view, const char *path, int64_t most_bytes,
                      int64_t most_inodes, json_t **ret, struct bh_error *error)
{
        _cleanup_close_ int fd =
                openat(view->workload.process, path, O_PATH | O_DIRECTORY | O_CLOEXEC);
        struct statfs status;
        int64_t bytes, inodes;

        if (fd < 0 || fstatfs(fd, &status) < 0)
                return bh_error_errno(error, errno, "measure %s", path);
        /* Less what the file system keeps for itself (ext4: reserved clusters). */
        bytes = (int64_t)(status.f_blocks - (status.f_bfree - status.f_bavail)) * status.f_bsize;
        inodes = (int64_t)status.f_files;
        *ret = json_pack("{sI sI}", "bytes", (json_int_t)bytes, "inodes", (json_int_t)inodes);
        if (bytes <= 0 || bytes > most_bytes || inodes <= 0 || inodes > most_inodes)
                return bh_error_set(error, BH_ERROR_SYSTEM,
                                    "%s holds %lld bytes and %lld inodes, not %lld and %lld", path,
                                    (long long)bytes, (long long)inodes, (long long)most_bytes,
                                    (long long)most_inodes);
        return 0;
}

/* An image has as many inodes as its maker found fit for its size, so size bounds them. */
int bh_read_scratch(const struct bh_view *view, json_t **ret, struct bh_error *error)
{
        const struct bh_expected *expected = view->expected;
        int64_t bytes = expected->scratch_bytes, inodes = expected->scratch_inodes;

        if (bytes < BH_IMAGE_BYTES_MIN)
                bytes = BH_IMAGE_BYTES_MIN;
        if (expected->scratch_backing == BH_SCRATCH_IMAGE)
                inodes = bytes;
        return check_size(view, "root/tmp", bytes + IMAGE_SLACK, inodes, ret, error);
}

int bh_read_shm(const struct bh_view *view, json_t **ret, struct bh_error *error)
{
        return check_size(view, "root/dev/shm", view->expected->shm_bytes + PAGE_SLACK,
                          view->expected->scratch_inodes, ret, error);
}

/* A named one is on an image of its own with its owner mapped; an ephemeral one on scratch. */
static int check_backing(const struct bh_view *view, const struct bh_mount_entry *workspace,
                         struct bh_error *error)
{
        const struct bh_mount_entry *tmp = bh_mount_table_find(&view->workload.mounts, "/tmp");
        bool shared = tmp && strcmp(tmp->device, workspace->device) == 0;

        if (view->expected->workspace_kind == BH_WORKSPACE_EPHEMERAL)
                return shared ? 0
                              : bh_error_set(error, BH_ERROR_SYSTEM,
                                             "/workspace is not on scratch");
        if (shared || strcmp(workspace->type, "ext4") != 0 ||
            !bh_mount_option(workspace->options, "idmapped"))
                return bh_error_set(error, BH_ERROR_SYSTEM, "/workspace is %s with %s",
                                    workspace->type, workspace->options);
        return 0;
}

int bh_read_workspace(const struct bh_view *view, json_t **ret, struct bh_error *error)
{
        const struct bh_mount_entry *workspace =
                bh_mount_table_find(&view->workload.mounts, "/workspace");
        bool writable = view->expected->workspace_writable;
        struct stat status;

        *ret = mount_json(workspace);
        if (!workspace)
                return bh_error_set(error, BH_ERROR_SYSTEM, "nothing is mounted at /workspace");
        if (bh_mount_option(workspace->options, "rw") != writable)
                return bh_error_set(error, BH_ERROR_SYSTEM, "/workspace is mounted %s",
                                    writable ? "read-only" : "writable");
        if (check_backing(view, workspace, error) < 0)
                return -1;
        if (fstatat(view->workload.process, "root/workspace", &status, 0) < 0)
                return bh_error_errno(error, errno, "look at /workspace");
        json_object_set_new(*ret, "owner", json_integer(status.st_uid));
        return status.st_uid == view->expected->workload_uid
                       ? 0
                       : bh_error_set(error, BH_ERROR_SYSTEM, "/workspace belongs to uid %u",
                                      status.st_uid);
}

/* At the target is what the source's descriptor held, with the options of its mode. */
static int check_agent_mount(const struct bh_view *view, size_t index,
                             const struct bh_mount_entry *entry, struct bh_error *error)
{
        const struct bh_mount_rule *rule = &view->expected->mounts.items[index];
        const struct bh_mount_identity *identity = &view->expected->mount_identity[index];
        _cleanup_free_ char *path = bh_format("root%s", rule->target);
        struct stat status;

        if (!entry)
                return bh_error_set(error, BH_ERROR_SYSTEM, "nothing is mounted at %s",
                                    rule->target);
        if (bh_mount_option(entry->options, "rw") != rule->writable)
                return bh_error_set(error, BH_ERROR_SYSTEM, "%s is mounted %s", rule->target,
                                    rule->writable ? "read-only" : "writable");
        if (rule->writable && !bh_mount_option(entry->options, "idmapped"))
                return bh_error_set(error, BH_ERROR_SYSTEM, "%s shows its owner unmapped",
                                    rule->target);
        if (fstatat(view->workload.process, path, &status, AT_SYMLINK_NOFOLLOW) < 0)
                return bh_error_errno(error, errno, "look at %s", rule->target);
        return status.st_dev == identity->device && status.st_ino == identity->inode
                       ? 0
                       : bh_error_set(error, BH_ERROR_SYSTEM, "%s is not what %s was", rule->target,
                                      rule->source);
}

/* A mount below a source came along with it; check_mount has looked at its options. */
static int check_agent_entries(const struct bh_view *view, json_t *observed, struct bh_error *error)
{
        const struct bh_mount_table *table = &view->workload.mounts;
        int result = 0;

        for (size_t i = 0; i < table->count; i++) {
                const struct bh_mount_entry *entry = &table->entries[i];
                json_t *seen;

                if (!find_rule(view, entry->target))
                        continue;
                seen = mount_json(entry);
                json_object_set_new(seen, "target", json_string(entry->target));
                json_array_append_new(observed, seen);
                if (result == 0 && entry->propagates)
                        result = bh_error_set(error, BH_ERROR_SYSTEM,
                                              "%s propagates to or from the host", entry->target);
                else if (result == 0)
                        result = check_mount(view, entry, error);
        }
        return result;
}

int bh_read_mounts(const struct bh_view *view, json_t **ret, struct bh_error *error)
{
        const struct bh_mount_rules *rules = &view->expected->mounts;
        int result;

        *ret = json_array();
        result = check_agent_entries(view, *ret, error);
        for (size_t i = 0; i < rules->count && result == 0; i++)
                result = check_agent_mount(
                        view, i,
                        bh_mount_table_find(&view->workload.mounts, rules->items[i].target), error);
        return result;
}
