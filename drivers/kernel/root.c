/* The template of root.h. The contents of its /etc are in root_etc.c. */
#include "drivers/kernel/root.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "drivers/kernel/mounts.h"
#include "drivers/kernel/root_etc.h"

#define READ_ONLY      (MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV)
/* Devices are the point of /dev. */
#define DEV_ATTRIBUTES (MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC)

static const struct {
        const char *path;
        mode_t mode;
} directories[] = {
        {"dev", 0755},  {"etc", 0755},  {"home", 0755},      {"mnt", 0755},       {"opt", 0755},
        {"proc", 0555}, {"root", 0700}, {"run", 0755},       {"srv", 0755},       {"tmp", 0755},
        {"usr", 0755},  {"var", 0755},  {"var/empty", 0555}, {"workspace", 0755},
};

static const struct {
        const char *path, *target;
} links[] = {
        {"var/tmp", "/tmp"},
        {"var/run", "/run"},
};

/* Symbolic links into /usr on a merged host, directories of their own on another. */
static const char *const system_directories[] = {"bin", "sbin", "lib", "lib32", "lib64", "libx32"};

/* Documentation/admin-guide/devices.txt, major 1. */
static const struct {
        const char *name;
        unsigned minor;
} devices[] = {{"null", 3}, {"zero", 5}, {"full", 7}, {"random", 8}, {"urandom", 9}};

static const struct {
        const char *path, *target;
} device_links[] = {
        {"fd", "/proc/self/fd"},
        {"stdin", "/proc/self/fd/0"},
        {"stdout", "/proc/self/fd/1"},
        {"stderr", "/proc/self/fd/2"},
};

/* umask(2) of the caller must not reach the tree. */
static int make_directory(int root, const char *path, mode_t mode, struct bh_error *error)
{
        if (mkdirat(root, path, mode) < 0 || fchmodat(root, path, mode, 0) < 0)
                return bh_error_errno(error, errno, "make /%s", path);
        return 0;
}

static int make_tree(int root, struct bh_error *error)
{
        for (size_t i = 0; i < sizeof(directories) / sizeof(directories[0]); i++) {
                if (make_directory(root, directories[i].path, directories[i].mode, error) < 0)
                        return -1;
        }
        for (size_t i = 0; i < sizeof(links) / sizeof(links[0]); i++) {
                if (symlinkat(links[i].target, root, links[i].path) < 0)
                        return bh_error_errno(error, errno, "make /%s", links[i].path);
        }
        return 0;
}

/* Binds the host's directory of the same name, with all below it, read-only. */
static int bind_host(int root, const char *path, bool recursive, struct bh_error *error)
{
        char source[PATH_MAX];
        _cleanup_close_ int mount = -1;
        int result;

        snprintf(source, sizeof(source), "/%s", path);
        mount = bh_mount_copy(AT_FDCWD, source, recursive);
        result = mount < 0 ? mount : bh_mount_restrict(mount, READ_ONLY, recursive);
        if (result == 0)
                result = bh_mount_attach(mount, root, path);
        if (result < 0)
                return bh_error_errno(error, -result, "bind %s", source);
        return 0;
}

static int make_system_directories(int root, struct bh_error *error)
{
        size_t count = sizeof(system_directories) / sizeof(system_directories[0]);
        _cleanup_close_ int host = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

        if (host < 0)
                return bh_error_errno(error, errno, "open /");
        for (size_t i = 0; i < count; i++) {
                const char *name = system_directories[i];
                char target[PATH_MAX];
                ssize_t length = readlinkat(host, name, target, sizeof(target) - 1);

                if (length < 0 && errno == ENOENT)
                        continue;
                if (length >= 0) {
                        target[length] = '\0';
                        if (symlinkat(target, root, name) < 0)
                                return bh_error_errno(error, errno, "make /%s", name);
                        continue;
                }
                if (make_directory(root, name, 0755, error) < 0 ||
                    bind_host(root, name, true, error) < 0)
                        return -1;
        }
        return 0;
}

static int make_devices(int dev, struct bh_error *error)
{
        for (size_t i = 0; i < sizeof(devices) / sizeof(devices[0]); i++) {
                if (mknodat(dev, devices[i].name, S_IFCHR | 0666, makedev(1, devices[i].minor)) <
                            0 ||
                    fchmodat(dev, devices[i].name, 0666, 0) < 0)
                        return bh_error_errno(error, errno, "make /dev/%s", devices[i].name);
        }
        for (size_t i = 0; i < sizeof(device_links) / sizeof(device_links[0]); i++) {
                if (symlinkat(device_links[i].target, dev, device_links[i].path) < 0)
                        return bh_error_errno(error, errno, "make /dev/%s", device_links[i].path);
        }
        return make_directory(dev, "shm", 0755, error);
}

static int attach_dev(int root, struct bh_error *error)
{
        static const char *const options[] = {"mode=0755", "size=64k", "nr_inodes=32", NULL};
        _cleanup_close_ int dev = bh_mount_new("tmpfs", options, MOUNT_ATTR_NOSUID);
        int result;

        if (dev < 0)
                return bh_error_errno(error, -dev, "mount /dev");
        if (make_devices(dev, error) < 0)
                return -1;
        result = bh_mount_restrict(dev, DEV_ATTRIBUTES, false);
        if (result == 0)
                result = bh_mount_attach(dev, root, "dev");
        return result < 0 ? bh_error_errno(error, -result, "attach /dev") : 0;
}

/* Directories of /etc whose contents are the host's packages' own, and change with them. */
static int bind_etc(int root, struct bh_error *error)
{
        static const char *const shown[] = {"etc/alternatives", "etc/ssl/certs"};

        for (size_t i = 0; i < sizeof(shown) / sizeof(shown[0]); i++) {
                char host[PATH_MAX];

                snprintf(host, sizeof(host), "/%s", shown[i]);
                if (access(host, F_OK) < 0 && errno == ENOENT)
                        continue;
                if (make_directory(root, shown[i], 0755, error) < 0 ||
                    bind_host(root, shown[i], false, error) < 0)
                        return -1;
        }
        return 0;
}

/* The boundary's init, where it is a program of its own. */
static int make_init(int root, const struct bh_root_program *program, struct bh_error *error)
{
        _cleanup_close_ int file = -1;

        if (make_directory(root, ".bulkhead", 0755, error) < 0)
                return -1;
        file = openat(root, ".bulkhead/init", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0555);
        if (file < 0 || bh_write_full(file, program->data, program->size) < 0 ||
            fchmod(file, 0555) < 0)
                return bh_error_errno(error, errno, "make /.bulkhead/init");
        return 0;
}

static int fill(int root, const struct bh_root_program *program, struct bh_error *error)
{
        int result;

        if (make_tree(root, error) < 0 || bh_root_make_etc(root, error) < 0 ||
            make_system_directories(root, error) < 0 || bind_etc(root, error) < 0 ||
            bind_host(root, "usr", true, error) < 0 || attach_dev(root, error) < 0 ||
            (program && make_init(root, program, error) < 0))
                return -1;
        /* Only now: what came before had to write. */
        result = bh_mount_restrict(root, READ_ONLY, false);
        return result < 0 ? bh_error_errno(error, -result, "make the root read-only") : 0;
}

int bh_root_install(const char *path, const struct bh_root_program *program, struct bh_error *error)
{
        static const char *const options[] = {"mode=0755", "size=16m", "nr_inodes=1024", NULL};
        _cleanup_close_ int directory = bh_make_directory(path, 0755, error);
        _cleanup_close_ int root = -1;
        int result;

        if (directory < 0)
                return -1;
        /* EINVAL: nothing is mounted there any more. Boundaries have copies of their own. */
        while (umount2(path, MNT_DETACH | UMOUNT_NOFOLLOW) == 0)
                continue;
        if (errno != EINVAL)
                return bh_error_errno(error, errno, "remove the old tree at %s", path);
        root = bh_mount_new("tmpfs", options, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
        result = root < 0 ? root : bh_mount_restrict(root, 0, false);
        if (result == 0)
                result = bh_mount_attach(root, AT_FDCWD, path);
        if (result < 0)
                return bh_error_errno(error, -result, "mount the root tree at %s", path);
        if (fill(root, program, error) < 0) {
                umount2(path, MNT_DETACH | UMOUNT_NOFOLLOW);
                return bh_error_prefix(error, "root tree");
        }
        return 0;
}
