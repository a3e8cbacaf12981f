/* Attempts at files that are not the workload's: by every way a path or a descriptor can lead
 * out, and by writing where only reading is meant. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "attempt.h"

#define PATH_BYTES 4096
#define DOTS       "../../../../../../../../../../../.."

/* ---- reading the host's canary ---- */

static void read_below(const struct canaries *canaries, const char *prefix, struct outcome *outcome)
{
        char path[PATH_BYTES];

        if (!canaries->file) {
                unknown(outcome, "no canary file given");
                return;
        }
        snprintf(path, sizeof(path), "%s%s", prefix, canaries->file);
        judge(outcome, try_read(path));
}

static void host_file(const struct canaries *canaries, struct outcome *outcome)
{
        read_below(canaries, "", outcome);
}

static void host_file_dots(const struct canaries *canaries, struct outcome *outcome)
{
        read_below(canaries, DOTS, outcome);
}

static void host_file_self_root(const struct canaries *canaries, struct outcome *outcome)
{
        read_below(canaries, "/proc/self/root", outcome);
}

static void host_file_self_cwd(const struct canaries *canaries, struct outcome *outcome)
{
        read_below(canaries, "/proc/self/cwd/" DOTS, outcome);
}

static void host_file_init_root(const struct canaries *canaries, struct outcome *outcome)
{
        read_below(canaries, "/proc/1/root", outcome);
}

static void host_file_init_cwd(const struct canaries *canaries, struct outcome *outcome)
{
        read_below(canaries, "/proc/1/cwd/" DOTS, outcome);
}

static void host_file_thread_root(const struct canaries *canaries, struct outcome *outcome)
{
        read_below(canaries, "/proc/1/task/1/root", outcome);
}

static void host_file_symlink(const struct canaries *canaries, struct outcome *outcome)
{
        if (!canaries->file)
                unknown(outcome, "no canary file given");
        else if (symlink(canaries->file, "link-to-canary") < 0)
                unknown(outcome, "no symbolic link made: %s", strerror(errno));
        else
                judge(outcome, try_read("link-to-canary"));
}

static void host_file_hard_link(const struct canaries *canaries, struct outcome *outcome)
{
        if (!canaries->file)
                unknown(outcome, "no canary file given");
        else
                judge(outcome, link(canaries->file, "hard-link-to-canary"));
}

/* A link in the workload's tree onto a file that it may only read. */
static void system_file_hard_link(const struct canaries *canaries, struct outcome *outcome)
{
        (void)canaries;
        judge(outcome, link("/usr/bin/env", "hard-link-to-env"));
        /* Without a boundary the work directory may be on another file system. */
        if (outcome->errnum == EXDEV && link("/usr/bin/env", "/usr/bin/.escape-link") == 0) {
                unlink("/usr/bin/.escape-link");
                judge(outcome, 0);
        }
}

/* The root directory of the file system below /usr by a made-up handle (CVE-2014-3519 and the
 * "shocker" program): inode 2 is ext4's root, 128 XFS's. */
static void root_by_handle(const struct canaries *canaries, struct outcome *outcome)
{
        struct {
                struct file_handle head;
                unsigned inode, generation;
        } handle = {.head = {.handle_bytes = 8, .handle_type = 1}};
        int mount = open("/usr", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        static const unsigned roots[] = {2, 128};

        (void)canaries;
        if (mount < 0) {
                unknown(outcome, "cannot open /usr: %s", strerror(errno));
                return;
        }
        for (size_t i = 0; i < sizeof(roots) / sizeof(roots[0]); i++) {
                handle.inode = roots[i];
                judge_gate(outcome, open_by_handle_at(mount, &handle.head, O_RDONLY | O_CLOEXEC),
                           (const int[]){ESTALE, 0});
                if (outcome->verdict == SUCCEEDED)
                        return;
        }
}

/* ---- descriptors ---- */

static void descriptors_inherited(const struct canaries *canaries, struct outcome *outcome)
{
        (void)canaries;
        if (inherited_descriptors > 0)
                succeeded(outcome, "%d descriptors above 2 were open at the start",
                          inherited_descriptors);
        else
                refused(outcome, "only 0-2 were open");
}

/* A file or directory of the host behind 0-2 is a way to "..", or to write where only
 * appending was meant. A memfd has no name anywhere and no links. */
static void descriptors_standard(const struct canaries *canaries, struct outcome *outcome)
{
        (void)canaries;
        for (int fd = 0; fd <= 2; fd++) {
                struct stat file;

                if (fstat(fd, &file) < 0)
                        continue;
                if (S_ISDIR(file.st_mode) || (S_ISREG(file.st_mode) && file.st_nlink > 0)) {
                        succeeded(outcome, "%d is a file or directory with a name", fd);
                        return;
                }
        }
        refused(outcome, "0-2 are no files of the host");
}

/* ---- writing ---- */

static void create_in(const char *directory, struct outcome *outcome)
{
        char path[PATH_BYTES];
        int fd;

        snprintf(path, sizeof(path), "%s/.escape-attempt", directory);
        fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        judge(outcome, fd);
        if (fd >= 0) {
                unlink(path);
                close(fd);
        }
}

#define CREATE_IN(function, directory)                                                 \
        static void function(const struct canaries *canaries, struct outcome *outcome) \
        {                                                                              \
                (void)canaries;                                                        \
                create_in(directory, outcome);                                         \
        }

CREATE_IN(create_in_root, "/")
CREATE_IN(create_in_usr, "/usr")
CREATE_IN(create_in_bin, "/usr/bin")
CREATE_IN(create_in_etc, "/etc")
CREATE_IN(create_in_dev, "/dev")
CREATE_IN(create_in_var, "/var")
CREATE_IN(create_in_home, "/home")
CREATE_IN(create_in_run, "/run")

static void write_passwd(const struct canaries *canaries, struct outcome *outcome)
{
        (void)canaries;
        judge(outcome, try_open_write("/etc/passwd"));
}

static void write_program(const struct canaries *canaries, struct outcome *outcome)
{
        (void)canaries;
        judge(outcome, try_open_write("/usr/bin/env"));
}

static void chmod_program(const struct canaries *canaries, struct outcome *outcome)
{
        struct stat file;

        (void)canaries;
        if (stat("/usr/bin/env", &file) < 0)
                unknown(outcome, "cannot look at /usr/bin/env: %s", strerror(errno));
        else /* to what it is already */
                judge(outcome, chmod("/usr/bin/env", file.st_mode & 07777));
}

static void read_shadow(const struct canaries *canaries, struct outcome *outcome)
{
        (void)canaries;
        judge(outcome, try_read("/etc/shadow"));
}

/* ---- devices ---- */

static void open_device(const char *name, mode_t type, dev_t device, struct outcome *outcome)
{
        judge(outcome, mknod(name, type | 0600, device));
        if (outcome->verdict == SUCCEEDED)
                judge_gate(outcome, open(name, O_RDONLY | O_NONBLOCK | O_CLOEXEC),
                           (const int[]){ENXIO, ENODEV, 0});
}

/* Documentation/admin-guide/devices.txt: c 1 1 is /dev/mem. */
static void device_memory(const struct canaries *canaries, struct outcome *outcome)
{
        (void)canaries;
        open_device("mem", S_IFCHR, makedev(1, 1), outcome);
}

static void device_disk(const struct canaries *canaries, struct outcome *outcome)
{
        struct stat usr;

        (void)canaries;
        if (stat("/usr", &usr) < 0)
                unknown(outcome, "cannot look at /usr: %s", strerror(errno));
        else
                open_device("disk", S_IFBLK, usr.st_dev, outcome);
}

static void device_nodes(const struct canaries *canaries, struct outcome *outcome)
{
        static const char *const nodes[] = {
                "/dev/mem",         "/dev/port",           "/dev/kmsg",
                "/dev/kvm",         "/dev/fuse",           "/dev/net/tun",
                "/dev/loop0",       "/dev/loop-control",   "/dev/vda",
                "/dev/sda",         "/dev/nvme0",          "/dev/console",
                "/dev/tty0",        "/dev/vhost-vsock",    "/dev/vhost-net",
                "/dev/userfaultfd", "/dev/mapper/control", "/dev/uinput",
                "/dev/rtc0",        "/dev/hpet",           "/dev/cpu/0/msr",
                "/dev/snapshot",    "/dev/btrfs-control"};

        (void)canaries;
        for (size_t i = 0; i < sizeof(nodes) / sizeof(nodes[0]); i++) {
                if (open(nodes[i], O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC) >= 0) {
                        succeeded(outcome, "opened %s", nodes[i]);
                        return;
                }
        }
        refused(outcome, "none of %zu could be opened", sizeof(nodes) / sizeof(nodes[0]));
}

const struct attempt file_attempts[] = {
        {"host-file", "open a file of the host by its path", host_file},
        {"host-file-dots", "open it through ..", host_file_dots},
        {"host-file-self-root", "open it through /proc/self/root", host_file_self_root},
        {"host-file-self-cwd", "open it through /proc/self/cwd and ..", host_file_self_cwd},
        {"host-file-init-root", "open it through /proc/1/root", host_file_init_root},
        {"host-file-init-cwd", "open it through /proc/1/cwd and ..", host_file_init_cwd},
        {"host-file-thread-root", "open it through /proc/1/task/1/root", host_file_thread_root},
        {"host-file-symlink", "open it through a symbolic link", host_file_symlink},
        {"host-file-hard-link", "make a hard link to it", host_file_hard_link},
        {"system-file-hard-link", "make a hard link to a system program", system_file_hard_link},
        {"root-by-handle", "open the host's root by a made-up file handle", root_by_handle},
        {"descriptors-inherited", "find descriptors that were left open", descriptors_inherited},
        {"descriptors-standard", "find a file of the host behind 0-2", descriptors_standard},
        {"create-in-root", "create a file in /", create_in_root},
        {"create-in-usr", "create a file in /usr", create_in_usr},
        {"create-in-bin", "create a file in /usr/bin", create_in_bin},
        {"create-in-etc", "create a file in /etc", create_in_etc},
        {"create-in-dev", "create a file in /dev", create_in_dev},
        {"create-in-var", "create a file in /var", create_in_var},
        {"create-in-home", "create a file in /home", create_in_home},
        {"create-in-run", "create a file in /run", create_in_run},
        {"write-passwd", "open /etc/passwd for writing", write_passwd},
        {"write-program", "open a system program for writing", write_program},
        {"chmod-program", "change the mode of a system program", chmod_program},
        {"read-shadow", "read /etc/shadow", read_shadow},
        {"device-memory", "make a node for /dev/mem and open it", device_memory},
        {"device-disk", "make a node for the host's disk and open it", device_disk},
        {"device-nodes", "open a device of the host in /dev", device_nodes},
        {NULL, NULL, NULL},
};
