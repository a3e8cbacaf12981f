/* Attempts at the mount table, by the old and the new system calls. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "attempt.h"

#define MOUNTS_MAX 256

/* An empty directory to mount on. */
static const char *spot(struct outcome *outcome)
{
        if (mkdir("spot", 0755) < 0 && errno != EEXIST) {
                unknown(outcome, "no directory made: %s", strerror(errno));
                return NULL;
        }
        return "spot";
}

static void mount_type(const char *type, const char *data, struct outcome *outcome)
{
        const char *target = spot(outcome);

        if (target)
                judge(outcome, mount(type, target, type, 0, data));
}

#define MOUNT_TYPE(function, type, data)                                               \
        static void function(const struct canaries *canaries, struct outcome *outcome) \
        {                                                                              \
                (void)canaries;                                                        \
                mount_type(type, data, outcome);                                       \
        }

MOUNT_TYPE(mount_tmpfs, "tmpfs", "")
MOUNT_TYPE(mount_proc, "proc", "")
MOUNT_TYPE(mount_sysfs, "sysfs", "")
MOUNT_TYPE(mount_cgroup2, "cgroup2", "")
MOUNT_TYPE(mount_overlay, "overlay", "lowerdir=/usr:/etc")

static void mount_bind(const struct canaries *canaries, struct outcome *outcome)
{
        const char *target = spot(outcome);

        (void)canaries;
        if (target)
                judge(outcome, mount("/", target, NULL, MS_BIND | MS_REC, NULL));
}

static void mount_fsopen(const struct canaries *canaries, struct outcome *outcome)
{
        int context = fsopen("tmpfs", FSOPEN_CLOEXEC);

        (void)canaries;
        judge(outcome, context);
        if (outcome->verdict == SUCCEEDED)
                judge(outcome, fsconfig(context, FSCONFIG_CMD_CREATE, NULL, NULL, 0));
        if (outcome->verdict == SUCCEEDED)
                judge(outcome, fsmount(context, FSMOUNT_CLOEXEC, 0));
}

static void mount_open_tree(const struct canaries *canaries, struct outcome *outcome)
{
        (void)canaries;
        judge(outcome, open_tree(AT_FDCWD, "/", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC));
}

static void mount_move(const struct canaries *canaries, struct outcome *outcome)
{
        const char *target = spot(outcome);

        (void)canaries;
        if (!target)
                return;
        judge_gate(outcome, move_mount(AT_FDCWD, "/proc", AT_FDCWD, target, 0),
                   (const int[]){EINVAL, 0});
}

static void mount_fspick(const struct canaries *canaries, struct outcome *outcome)
{
        (void)canaries;
        judge(outcome, fspick(AT_FDCWD, "/proc", FSPICK_CLOEXEC));
}

static void unmount_proc(const struct canaries *canaries, struct outcome *outcome)
{
        (void)canaries;
        judge(outcome, umount2("/proc", MNT_DETACH));
}

/* Mount points of mountinfo with this option. Returns how many were tried before one worked,
 * negated, or how many were tried in vain. */
static int for_each_read_only(int (*attempt)(const char *point), char *ret_point, size_t size)
{
        static char points[MOUNTS_MAX][256];
        FILE *mountinfo = fopen("/proc/self/mountinfo", "re");
        char line[4096], options[256];
        int count = 0;

        if (!mountinfo)
                return 0;
        while (count < MOUNTS_MAX && fgets(line, sizeof(line), mountinfo)) {
                /* proc_pid_mountinfo(5): the fifth and the sixth field */
                if (sscanf(line, "%*s %*s %*s %*s %255s %255s", points[count], options) == 2 &&
                    (strncmp(options, "ro,", 3) == 0 || strcmp(options, "ro") == 0))
                        count++;
        }
        fclose(mountinfo);
        for (int i = 0; i < count; i++) {
                if (attempt(points[i]) == 0) {
                        snprintf(ret_point, size, "%s", points[i]);
                        return -1;
                }
        }
        return count;
}

static void remount_with(int (*attempt)(const char *point), struct outcome *outcome)
{
        char point[256];
        int tried = for_each_read_only(attempt, point, sizeof(point));

        if (tried < 0)
                succeeded(outcome, "%s is writable now", point);
        else if (tried == 0)
                unknown(outcome, "no read-only mount to try");
        else
                refused(outcome, "%d read-only mounts: %s", tried, strerror(errno));
}

static int remount_bind(const char *point)
{
        return mount(NULL, point, NULL, MS_REMOUNT | MS_BIND, NULL);
}

static int remount_super(const char *point)
{
        return mount(NULL, point, NULL, MS_REMOUNT, NULL);
}

static int remount_attributes(const char *point)
{
        struct mount_attr attributes = {.attr_clr = MOUNT_ATTR_RDONLY};

        return mount_setattr(AT_FDCWD, point, 0, &attributes, sizeof(attributes));
}

static void remount_writable(const struct canaries *canaries, struct outcome *outcome)
{
        (void)canaries;
        remount_with(remount_bind, outcome);
}

static void remount_super_block(const struct canaries *canaries, struct outcome *outcome)
{
        (void)canaries;
        remount_with(remount_super, outcome);
}

static void remount_by_setattr(const struct canaries *canaries, struct outcome *outcome)
{
        (void)canaries;
        remount_with(remount_attributes, outcome);
}

/* EINVAL: the right is there, but the new root is no mount point. */
static void pivot(const struct canaries *canaries, struct outcome *outcome)
{
        (void)canaries;
        judge_gate(outcome, syscall(SYS_pivot_root, ".", "."), (const int[]){EINVAL, EBUSY, 0});
}

static void change_root(const struct canaries *canaries, struct outcome *outcome)
{
        (void)canaries;
        judge(outcome, chroot("."));
}

const struct attempt mount_attempts[] = {
        {"mount-tmpfs", "mount a tmpfs", mount_tmpfs},
        {"mount-proc", "mount another /proc", mount_proc},
        {"mount-sysfs", "mount /sys", mount_sysfs},
        {"mount-cgroup2", "mount the cgroup tree", mount_cgroup2},
        {"mount-overlay", "mount an overlay over the system", mount_overlay},
        {"mount-bind", "bind the root once more", mount_bind},
        {"mount-fsopen", "mount by fsopen, fsconfig, fsmount", mount_fsopen},
        {"mount-open-tree", "copy the mount tree by open_tree", mount_open_tree},
        {"mount-move", "move a mount by move_mount", mount_move},
        {"mount-fspick", "take a mounted super block by fspick", mount_fspick},
        {"unmount-proc", "unmount what hides the host's /proc", unmount_proc},
        {"remount-writable", "make read-only mounts writable", remount_writable},
        {"remount-super-block", "make their super blocks writable", remount_super_block},
        {"remount-setattr", "make them writable by mount_setattr", remount_by_setattr},
        {"pivot-root", "change the root by pivot_root", pivot},
        {"chroot", "change the root by chroot", change_root},
        {NULL, NULL, NULL},
};
