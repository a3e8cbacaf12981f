/* See mounts.h; mount_setattr(2), open_tree(2), move_mount(2), fsopen(2). */
#include "drivers/kernel/mounts.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#define OPTION_MAX 64 /* bytes of an option's name */

int bh_mount_copy(int directory, const char *path, bool recursive)
{
        unsigned flags = OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC;
        int mount = open_tree(directory, path, flags | (recursive ? AT_RECURSIVE : 0U));

        return mount < 0 ? -errno : mount;
}

int bh_mount_copy_of(int fd)
{
        int mount = open_tree(fd, "",
                              OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH | AT_RECURSIVE);

        return mount < 0 ? -errno : mount;
}

/* Splits "key=value"; a key alone is a flag. */
static int set_option(int context, const char *option)
{
        const char *equals = strchr(option, '=');
        char key[OPTION_MAX];

        if (!equals)
                return fsconfig(context, FSCONFIG_SET_FLAG, option, NULL, 0) < 0 ? -errno : 0;
        if ((size_t)(equals - option) >= sizeof(key))
                return -EINVAL;
        memcpy(key, option, (size_t)(equals - option));
        key[equals - option] = '\0';
        return fsconfig(context, FSCONFIG_SET_STRING, key, equals + 1, 0) < 0 ? -errno : 0;
}

int bh_mount_new(const char *type, const char *const options[], unsigned attributes)
{
        int context = fsopen(type, FSOPEN_CLOEXEC);
        int result = context < 0 ? -errno : 0;

        for (; options && *options && result == 0; options++)
                result = set_option(context, *options);
        if (result == 0 && fsconfig(context, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
                result = -errno;
        if (result == 0) {
                result = fsmount(context, FSMOUNT_CLOEXEC, attributes);
                if (result < 0)
                        result = -errno;
        }
        if (context >= 0)
                close(context);
        return result;
}

int bh_mount_attach(int mount, int directory, const char *path)
{
        return move_mount(mount, "", directory, path, MOVE_MOUNT_F_EMPTY_PATH) < 0 ? -errno : 0;
}

static int set_attributes(int mount, struct mount_attr *attributes, bool recursive)
{
        unsigned flags = AT_EMPTY_PATH | (recursive ? AT_RECURSIVE : 0U);

        return mount_setattr(mount, "", flags, attributes, sizeof(*attributes)) < 0 ? -errno : 0;
}

int bh_mount_restrict(int mount, uint64_t attributes, bool recursive)
{
        struct mount_attr wanted = {.attr_set = attributes, .propagation = MS_PRIVATE};

        return set_attributes(mount, &wanted, recursive);
}

int bh_mount_idmap(int mount, int user_namespace, uint64_t attributes, bool recursive)
{
        struct mount_attr wanted = {
                .attr_set = attributes | MOUNT_ATTR_IDMAP,
                .userns_fd = (unsigned int)user_namespace,
        };

        return set_attributes(mount, &wanted, recursive);
}

/* cmdline: hosts keep passwords there. kallsyms, modules: true addresses, where perf is for all. */
const struct bh_proc_entry bh_proc_masked[] = {
        {"/proc/cmdline", BH_PROC_FILE},       {"/proc/kallsyms", BH_PROC_FILE},
        {"/proc/kcore", BH_PROC_FILE},         {"/proc/keys", BH_PROC_FILE},
        {"/proc/key-users", BH_PROC_FILE},     {"/proc/kmsg", BH_PROC_FILE},
        {"/proc/latency_stats", BH_PROC_FILE}, {"/proc/modules", BH_PROC_FILE},
        {"/proc/sched_debug", BH_PROC_FILE},   {"/proc/sysrq-trigger", BH_PROC_FILE},
        {"/proc/timer_list", BH_PROC_FILE},    {"/proc/timer_stats", BH_PROC_FILE},
        {"/proc/acpi", BH_PROC_DIRECTORY},     {"/proc/asound", BH_PROC_DIRECTORY},
        {"/proc/scsi", BH_PROC_DIRECTORY},     {"/proc/bus", BH_PROC_READ_ONLY},
        {"/proc/fs", BH_PROC_READ_ONLY},       {"/proc/irq", BH_PROC_READ_ONLY},
        {"/proc/sys", BH_PROC_READ_ONLY},      {NULL, BH_PROC_FILE},
};

/* mount(2) binds in one call where open_tree and move_mount need two; a bind has the
 * attributes of what it was made from, so that a mask is as read-only as the template. */
static int mask(const struct bh_proc_entry *entry)
{
        const char *source = entry->path;
        struct mount_attr read_only = {.attr_set = MOUNT_ATTR_RDONLY};

        if (entry->mask == BH_PROC_FILE)
                source = "/dev/null";
        else if (entry->mask == BH_PROC_DIRECTORY)
                source = BH_PROC_EMPTY;
        if (mount(source, entry->path, NULL, MS_BIND, NULL) < 0)
                return errno == ENOENT ? 0 : -errno;
        if (entry->mask == BH_PROC_READ_ONLY &&
            mount_setattr(AT_FDCWD, entry->path, 0, &read_only, sizeof(read_only)) < 0)
                return -errno;
        return 0;
}

int bh_proc_mount(void)
{
        int result = 0;

        if (mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, "hidepid=invisible") <
            0)
                return -errno;
        for (const struct bh_proc_entry *entry = bh_proc_masked; entry->path && result == 0;
             entry++)
                result = mask(entry);
        return result;
}
