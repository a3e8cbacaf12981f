/* Images and tmpfs on the running kernel. Needs root, loop devices and mkfs.ext4. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "drivers/kernel/image.h"
#include "drivers/kernel/loop.h"
#include "needs_root.h"

#define MIB          ((int64_t)1 << 20)
#define CLEAR_WAIT_S 5

struct place {
        char path[64];
        int fd;
};

static int make_place(void **state)
{
        struct place *place = bh_alloc(sizeof(*place));

        /* Not /tmp, which may be a tmpfs. */
        strcpy(place->path, "/var/tmp/bulkhead-image-XXXXXX");
        if (!mkdtemp(place->path))
                return -1;
        place->fd = open(place->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        *state = place;
        return place->fd < 0;
}

static int remove_place(void **state)
{
        struct place *place = *state;
        int result;

        unlinkat(place->fd, "named.img", 0);
        close(place->fd);
        result = rmdir(place->path);
        free(place);
        return result;
}

/* Writes zeros into a new file until the kernel refuses, and returns how many fitted. */
static int64_t fill(int mount)
{
        static char block[65536];
        _cleanup_close_ int fd = openat(mount, "filler", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        int64_t written = 0;
        ssize_t put;

        assert_true(fd >= 0);
        while ((put = write(fd, block, sizeof(block))) > 0)
                written += put;
        assert_int_equal(errno, ENOSPC);
        assert_int_equal(unlinkat(mount, "filler", 0), 0);
        return written;
}

/* A cleared loop device goes a moment after its last user. */
static void assert_detached(int image)
{
        const struct timespec pause = {.tv_nsec = 10000000};
        struct bh_error error = {0};

        for (int i = 0; i < CLEAR_WAIT_S * 100; i++) {
                int attached = bh_loop_holds(image, &error);

                assert_ok(attached, error);
                if (attached == 0)
                        return;
                nanosleep(&pause, NULL);
        }
        fail_msg("the loop device is still attached");
}

static void check_root(int mount, uid_t uid, gid_t gid)
{
        struct stat root;

        assert_int_equal(fstat(mount, &root), 0);
        assert_int_equal(root.st_uid, uid);
        assert_int_equal(root.st_gid, gid);
        assert_int_equal(root.st_mode & 07777, 0700);
}

static void test_room(void **state)
{
        static const int64_t sizes[] = {1, 8, 64, 200, 1024};
        struct place *place = *state;

        for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
                struct bh_error error = {0};
                int64_t bytes = sizes[i] * MIB;
                _cleanup_close_ int image =
                        bh_image_make_unnamed(place->fd, bytes, 12345, 54321, &error);
                _cleanup_close_ int mount = -1;
                int64_t room;

                assert_ok(image, error);
                mount = bh_image_mount(image, false, &error);
                assert_ok(mount, error);
                check_root(mount, 12345, 54321);
                /* The largest is judged by what the kernel says, to keep the test short. */
                if (bytes < 512 * MIB) {
                        room = fill(mount);
                } else {
                        struct statvfs held;

                        assert_int_equal(fstatvfs(mount, &held), 0);
                        room = (int64_t)(held.f_bavail * held.f_frsize);
                }
                assert_in_range(room, bytes * 97 / 100, bytes * 103 / 100);
                mount = bh_close(mount);
                assert_detached(image);
        }
}

static void test_mount_attributes(void **state)
{
        struct place *place = *state;
        struct bh_error error = {0};
        _cleanup_close_ int image = bh_image_make_unnamed(place->fd, 1, 0, 0, &error);
        _cleanup_close_ int mount = -1, other = -1;
        struct statvfs held;

        assert_ok(image, error);
        mount = bh_image_mount(image, false, &error);
        assert_ok(mount, error);
        assert_int_equal(fstatvfs(mount, &held), 0);
        assert_int_equal(held.f_flag & (ST_NOSUID | ST_NODEV | ST_RDONLY), ST_NOSUID | ST_NODEV);
        /* Smaller requests are made the smallest size. */
        assert_in_range(held.f_blocks * held.f_frsize, MIB, 2 * MIB);
        /* A second mount of the same file: same loop device, same files. */
        other = bh_image_mount(image, true, &error);
        assert_ok(other, error);
        assert_int_equal(mkdirat(mount, "seen", 0755), 0);
        assert_int_equal(faccessat(other, "seen", F_OK, 0), 0);
        assert_int_equal(mkdirat(other, "refused", 0755), -1);
        assert_int_equal(errno, EROFS);
        assert_int_equal(bh_loop_holds(image, &error), 1);
        mount = bh_close(mount);
        assert_int_equal(bh_loop_holds(image, &error), 1);
        other = bh_close(other);
        assert_detached(image);
}

static void test_named(void **state)
{
        struct place *place = *state;
        struct bh_error error = {0};
        _cleanup_close_ int image = -1, mount = -1, file = -1;
        struct stat held;

        assert_ok(bh_image_make(place->fd, "named.img", 8 * MIB, 7, 8, &error), error);
        assert_int_equal(fstatat(place->fd, "named.img", &held, AT_SYMLINK_NOFOLLOW), 0);
        assert_true(S_ISREG(held.st_mode));
        assert_int_equal(held.st_mode & 07777, 0600);
        /* A name that is taken is not overwritten. */
        assert_int_equal(bh_image_make(place->fd, "named.img", 8 * MIB, 7, 8, &error), -1);
        assert_int_equal(error.errnum, EEXIST);

        image = openat(place->fd, "named.img", O_RDWR | O_CLOEXEC);
        mount = bh_image_mount(image, false, &error);
        assert_ok(mount, error);
        check_root(mount, 7, 8);
        assert_in_range(fill(mount), 8 * MIB * 97 / 100, 8 * MIB * 103 / 100);
        file = openat(mount, "kept", O_WRONLY | O_CREAT | O_CLOEXEC, 0640);
        assert_int_equal(write(file, "kept", 4), 4);
        file = bh_close(file);
        /* What the user set stays. */
        assert_int_equal(fchmodat(mount, ".", 0751, 0), 0);
        mount = bh_close(mount);
        assert_detached(image);

        mount = bh_image_mount(image, true, &error);
        assert_ok(mount, error);
        assert_int_equal(fstat(mount, &held), 0);
        assert_int_equal(held.st_mode & 07777, 0751);
        assert_int_equal(fstatat(mount, "kept", &held, 0), 0);
        assert_int_equal(held.st_size, 4);
        mount = bh_close(mount);
        assert_detached(image);
}

/* mkfs gives no journal to a small file system, which would leave too much room. */
static void test_small_named(void **state)
{
        static const int64_t sizes[] = {MIB, MIB + 1, 2 * MIB, 3000000, 4 * MIB};
        struct place *place = *state;

        for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
                struct bh_error error = {0};
                _cleanup_close_ int image = -1, mount = -1;

                assert_ok(bh_image_make(place->fd, "named.img", sizes[i], 7, 8, &error), error);
                image = openat(place->fd, "named.img", O_RDWR | O_CLOEXEC);
                mount = bh_image_mount(image, false, &error);
                assert_ok(mount, error);
                assert_in_range(fill(mount), sizes[i] * 97 / 100, sizes[i] * 103 / 100 + 4096);
                mount = bh_close(mount);
                assert_detached(image);
                assert_int_equal(unlinkat(place->fd, "named.img", 0), 0);
        }
}

static void test_not_an_image(void **state)
{
        struct place *place = *state;
        struct bh_error error = {0};
        _cleanup_close_ int file = openat(place->fd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

        assert_int_equal(ftruncate(file, MIB), 0);
        assert_int_equal(bh_image_mount(file, false, &error), -1);
        assert_non_null(strstr(error.message, "mount an image"));
        assert_detached(file);
}

/* Many at once, each with a device of its own; none left. */
static void test_many(void **state)
{
        enum { COUNT = 24 };
        struct place *place = *state;
        struct bh_error error = {0};
        int images[COUNT], mounts[COUNT];

        for (int i = 0; i < COUNT; i++) {
                images[i] = bh_image_make_unnamed(place->fd, MIB, 0, 0, &error);
                assert_ok(images[i], error);
                mounts[i] = bh_image_mount(images[i], false, &error);
                assert_ok(mounts[i], error);
        }
        for (int i = 0; i < COUNT; i++) {
                struct stat a, b;

                assert_int_equal(fstat(mounts[i], &a), 0);
                assert_int_equal(fstat(mounts[(i + 1) % COUNT], &b), 0);
                assert_true(a.st_dev != b.st_dev);
        }
        for (int i = 0; i < COUNT; i++)
                close(mounts[i]);
        for (int i = 0; i < COUNT; i++) {
                assert_detached(images[i]);
                close(images[i]);
        }
}

static void test_tmpfs(void **state)
{
        struct bh_error error = {0};
        _cleanup_close_ int mount = bh_tmpfs_mount(4 * MIB + 1, 16, &error);
        struct statvfs held;
        int made = 0;

        (void)state;
        assert_ok(mount, error);
        assert_int_equal(fstatvfs(mount, &held), 0);
        assert_int_equal(held.f_flag & (ST_NOSUID | ST_NODEV), ST_NOSUID | ST_NODEV);
        assert_int_equal(fill(mount), 4 * MIB + 4096);
        for (; made < 100; made++) {
                char name[16];

                snprintf(name, sizeof(name), "d%d", made);
                if (mkdirat(mount, name, 0755) < 0)
                        break;
        }
        assert_int_equal(errno, ENOSPC);
        assert_int_equal(made, 15); /* the root is one */
        assert_int_equal(bh_tmpfs_mount(0, 16, &error), -1);
        assert_int_equal(bh_tmpfs_mount(MIB, 0, &error), -1);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(test_room, make_place, remove_place),
                cmocka_unit_test_setup_teardown(test_mount_attributes, make_place, remove_place),
                cmocka_unit_test_setup_teardown(test_named, make_place, remove_place),
                cmocka_unit_test_setup_teardown(test_small_named, make_place, remove_place),
                cmocka_unit_test_setup_teardown(test_not_an_image, make_place, remove_place),
                cmocka_unit_test_setup_teardown(test_many, make_place, remove_place),
                cmocka_unit_test(test_tmpfs),
        };

        if (bh_test_lacks_root("images"))
                return TEST_SKIPPED;
        return cmocka_run_group_tests(tests, NULL, NULL);
}
