/* Attaching files to loop devices; see loop.h. */
#include "drivers/kernel/loop.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/loop.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

#define ATTACH_TRIES     64
/* The block size of our file systems: the device never sees a smaller request, so direct I/O
 * fits whatever disk is below. */
#define LOOP_BLOCK_BYTES 4096

static void close_directory(DIR **directory)
{
        if (*directory)
                closedir(*directory);
}

/* Another open file description of the same file: a flock(2) and a loop device must not share
 * one with the caller, who may have passed its own to another process. */
static int reopen(int fd, struct bh_error *error)
{
        char path[32];
        int again;

        snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
        again = open(path, O_RDWR | O_CLOEXEC);
        if (again < 0)
                return bh_error_errno(error, errno, "open the image again");
        return again;
}

/* 1 when the loop device behind fd holds the file. Compares the inode, since a backing file's
 * name says nothing about which file it is now. */
static int holds_file(int fd, const struct stat *file)
{
        struct loop_info64 info;

        return ioctl(fd, LOOP_GET_STATUS64, &info) == 0 && info.lo_device == file->st_dev &&
               info.lo_inode == file->st_ino;
}

/* Looks through the attached devices. 1: the one that holds the file, opened, 0: none, -1. */
static int find(const struct stat *file, int *ret_fd, char ret_path[BH_LOOP_PATH_SIZE],
                struct bh_error *error)
{
        _cleanup_(close_directory) DIR *stream = opendir("/sys/block");
        struct dirent *entry;

        if (!stream)
                return bh_error_errno(error, errno, "list /sys/block");
        while ((entry = readdir(stream))) {
                _cleanup_close_ int fd = -1;
                char attribute[300], path[BH_LOOP_PATH_SIZE];

                if (strncmp(entry->d_name, "loop", 4) != 0)
                        continue;
                snprintf(attribute, sizeof(attribute), "%s/loop", entry->d_name);
                if (faccessat(dirfd(stream), attribute, F_OK, 0) < 0)
                        continue; /* attached to nothing */
                if (snprintf(path, sizeof(path), "/dev/%s", entry->d_name) >= (int)sizeof(path))
                        continue;
                fd = open(path, O_RDONLY | O_CLOEXEC);
                if (fd < 0 && errno != ENXIO && errno != ENOENT)
                        return bh_error_errno(error, errno, "open %s", path);
                if (fd >= 0 && holds_file(fd, file)) {
                        memcpy(ret_path, path, sizeof(path));
                        *ret_fd = bh_steal_fd(&fd);
                        return 1;
                }
        }
        return 0;
}

/* One try at a free device. Returns its descriptor, or -1 with errno. */
static int configure_free(int control, int image, char ret_path[BH_LOOP_PATH_SIZE])
{
        const struct loop_config config = {
                .fd = (__u32)image,
                .block_size = LOOP_BLOCK_BYTES,
                /* Direct: else every page is in the cache, and in the memory limit, twice. */
                .info = {.lo_flags = LO_FLAGS_AUTOCLEAR | LO_FLAGS_DIRECT_IO},
        };
        int number = ioctl(control, LOOP_CTL_GET_FREE);
        int fd;

        if (number < 0)
                return -1;
        snprintf(ret_path, BH_LOOP_PATH_SIZE, "/dev/loop%d", number);
        fd = open(ret_path, O_RDWR | O_CLOEXEC);
        if (fd >= 0 && ioctl(fd, LOOP_CONFIGURE, &config) < 0)
                return bh_close(fd);
        return fd;
}

static int attach_new(int image, char ret_path[BH_LOOP_PATH_SIZE], struct bh_error *error)
{
        _cleanup_close_ int control = open("/dev/loop-control", O_RDWR | O_CLOEXEC);

        if (control < 0)
                return bh_error_errno(error, errno, "open /dev/loop-control");
        for (int attempt = 0; attempt < ATTACH_TRIES; attempt++) {
                int fd = configure_free(control, image, ret_path);

                if (fd >= 0)
                        return fd;
                /* EBUSY: another process took the free device first; ENXIO: it is just now
                 * being cleared. */
                if (errno != EBUSY && errno != ENXIO)
                        return bh_error_errno(error, errno, "attach the image to a loop device");
        }
        return bh_error_errno(error, EBUSY, "attach the image to a loop device");
}

int bh_loop_attach(int image_fd, char ret_path[BH_LOOP_PATH_SIZE], struct bh_error *error)
{
        _cleanup_close_ int lock = reopen(image_fd, error);
        _cleanup_close_ int image = -1;
        struct stat file;
        int fd, found;

        if (lock < 0)
                return -1;
        /* Finding none and attaching one must be one step for all who use the file. */
        if (flock(lock, LOCK_EX) < 0 || fstat(lock, &file) < 0)
                return bh_error_errno(error, errno, "lock the image");
        found = find(&file, &fd, ret_path, error);
        if (found != 0)
                return found < 0 ? -1 : fd;
        image = reopen(image_fd, error);
        if (image < 0)
                return -1;
        return attach_new(image, ret_path, error);
}

int bh_loop_holds(int image_fd, struct bh_error *error)
{
        char path[BH_LOOP_PATH_SIZE];
        _cleanup_close_ int fd = -1;
        struct stat file;

        if (fstat(image_fd, &file) < 0)
                return bh_error_errno(error, errno, "look at the image");
        return find(&file, &fd, path, error);
}
