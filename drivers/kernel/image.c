/* Size-limited file systems: images and tmpfs; see image.h. What is inside an image is made in
 * ext4_image.c, what it hangs on in loop.c. */
#include "drivers/kernel/image.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "drivers/kernel/ext4_image.h"
#include "drivers/kernel/loop.h"

#define IMAGE_MODE    0600
#define ROOT_MODE     0700
#define LOG_BYTES_MAX 512

/* The new mount API says what it did not like in the context's own log (fsopen(2)). */
static int context_error(int context, const char *step, struct bh_error *error)
{
        int saved = errno;
        char log[LOG_BYTES_MAX];
        ssize_t size = read(context, log, sizeof(log) - 1);

        bh_error_errno(error, saved, "%s", step);
        if (size > 0) {
                if (log[size - 1] == '\n')
                        size--;
                log[size] = '\0';
                return bh_error_prefix(error, "%s", log);
        }
        return -1;
}

struct option {
        const char *key;
        const char *value; /* NULL: a flag */
};

/* Makes a super block with the options up to the first without a key, and mounts it nowhere. */
static int mount_detached(const char *type, const struct option *options, unsigned int attributes,
                          struct bh_error *error)
{
        _cleanup_close_ int context = fsopen(type, FSOPEN_CLOEXEC);
        int mount;

        if (context < 0)
                return bh_error_errno(error, errno, "open a %s context", type);
        for (const struct option *option = options; option->key; option++) {
                unsigned int command = option->value ? FSCONFIG_SET_STRING : FSCONFIG_SET_FLAG;

                if (fsconfig(context, command, option->key, option->value, 0) < 0)
                        return context_error(context, option->key, error);
        }
        if (fsconfig(context, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
                return context_error(context, "make the super block", error);
        mount = fsmount(context, FSMOUNT_CLOEXEC,
                        attributes | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
        if (mount < 0)
                return context_error(context, "mount", error);
        return mount;
}

static int mount_loop(const char *device, bool unnamed, bool read_only, struct bh_error *error)
{
        const struct option options[] = {
                {"source", device},
                {"noinit_itable", NULL}, /* the file's holes are zero already */
                unnamed ? (struct option){"nobarrier", NULL}
                        : (struct option){"errors", "remount-ro"},
                {NULL, NULL},
        };
        _cleanup_close_ int mount = -1;

        /* Read-only is a property of the mount: readers and the one writer share a super
         * block. */
        mount = mount_detached("ext4", options, read_only ? MOUNT_ATTR_RDONLY : 0, error);
        if (mount < 0)
                return -1;
        /* mkfs knows no mode for the root directory; a named image was mounted once before
         * it got its name. */
        if (unnamed && !read_only && fchmodat(mount, ".", ROOT_MODE, 0) < 0)
                return bh_error_errno(error, errno, "set the root's mode");
        return bh_steal_fd(&mount);
}

int bh_image_mount(int image_fd, bool read_only, struct bh_error *error)
{
        char device[BH_LOOP_PATH_SIZE];
        _cleanup_close_ int loop = -1;
        struct stat file;
        int mount;

        if (fstat(image_fd, &file) < 0)
                return bh_error_errno(error, errno, "look at the image");
        loop = bh_loop_attach(image_fd, device, error);
        if (loop < 0)
                return bh_error_prefix(error, "mount an image");
        mount = mount_loop(device, file.st_nlink == 0, read_only, error);
        if (mount < 0)
                return bh_error_prefix(error, "mount an image");
        return mount;
}

/* A file without a name that holds a file system. Returns its descriptor, or -1. */
static int make(int directory, int64_t bytes, bool journal, uid_t uid, gid_t gid,
                struct bh_error *error)
{
        _cleanup_close_ int fd = openat(directory, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, IMAGE_MODE);

        if (fd < 0)
                return bh_error_errno(error, errno, "make an image");
        if (bytes < BH_IMAGE_BYTES_MIN)
                bytes = BH_IMAGE_BYTES_MIN;
        if (bh_ext4_format(fd, bytes, journal, uid, gid, error) < 0)
                return bh_error_prefix(error, "make an image");
        return bh_steal_fd(&fd);
}

int bh_image_make_unnamed(int directory, int64_t bytes, uid_t uid, gid_t gid,
                          struct bh_error *error)
{
        return make(directory, bytes, false, uid, gid, error);
}

int bh_image_make(int directory, const char *name, int64_t bytes, uid_t uid, gid_t gid,
                  struct bh_error *error)
{
        _cleanup_close_ int fd = make(directory, bytes, true, uid, gid, error);
        char path[32];
        int mount;

        if (fd < 0)
                return -1;
        /* The first mount finishes the root directory. */
        mount = bh_image_mount(fd, false, error);
        if (mount < 0)
                return -1;
        bh_close(mount);
        snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
        /* On disk before it has a name: a crash leaves a whole image or none. */
        if (fsync(fd) < 0 || linkat(AT_FDCWD, path, directory, name, AT_SYMLINK_FOLLOW) < 0 ||
            fsync(directory) < 0)
                return bh_error_errno(error, errno, "name image %s", name);
        return 0;
}

/* What the kernel holds, in its own words. */
static int check_tmpfs(int mount, int64_t bytes, int64_t inodes, struct bh_error *error)
{
        struct statfs held;
        int64_t page = sysconf(_SC_PAGESIZE);

        if (fstatfs(mount, &held) < 0)
                return bh_error_errno(error, errno, "look at the tmpfs");
        if ((int64_t)held.f_blocks != (bytes + page - 1) / page || (int64_t)held.f_files != inodes)
                return bh_error_set(error, BH_ERROR_SYSTEM,
                                    "the tmpfs holds %" PRId64 " pages and %" PRId64 " inodes",
                                    (int64_t)held.f_blocks, (int64_t)held.f_files);
        return 0;
}

int bh_tmpfs_mount(int64_t bytes, int64_t inodes, struct bh_error *error)
{
        _cleanup_free_ char *size = bh_format("%" PRId64, bytes);
        _cleanup_free_ char *count = bh_format("%" PRId64, inodes);
        const struct option options[] = {{"source", "tmpfs"},
                                         {"size", size},
                                         {"nr_inodes", count},
                                         {"mode", "0755"},
                                         {NULL, NULL}};
        _cleanup_close_ int mount = -1;

        /* tmpfs(5): zero would mean no limit at all. */
        if (bytes <= 0 || inodes <= 0)
                return bh_error_set(error, BH_ERROR_INTERNAL, "a tmpfs needs limits");
        mount = mount_detached("tmpfs", options, 0, error);
        if (mount < 0 || check_tmpfs(mount, bytes, inodes, error) < 0)
                return bh_error_prefix(error, "mount a tmpfs");
        return bh_steal_fd(&mount);
}
