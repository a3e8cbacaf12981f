/* See guest.h. */
#include "drivers/container/init/guest.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "drivers/kernel/report.h"

#define STATUS_MAX 4096

int bh_guest_drop(uid_t uid)
{
        struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
        struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {{0, 0, 0}};
        unsigned long capability = 0;

        while (prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) == 0)
                capability++;
        if (errno != EINVAL || capability == 0)
                return -errno;
        if (syscall(SYS_setresgid, uid, uid, uid) < 0 || syscall(SYS_setresuid, uid, uid, uid) < 0)
                return -errno;
        return syscall(SYS_capset, &header, none) < 0 ? -errno : 0;
}

static void copy(char *to, size_t size, const char *from, size_t length)
{
        if (length >= size)
                length = size - 1;
        memcpy(to, from, length);
        to[length] = '\0';
}

/* One "Name:\tvalue" line. */
static void tell(int channel, const char *line, size_t length)
{
        static const char *const told[] = {"Uid",    "Gid",    "Groups", "CapInh",     "CapPrm",
                                           "CapEff", "CapBnd", "CapAmb", "NoNewPrivs", "Seccomp"};
        struct bh_report report = {.kind = BH_REPORT_TOLD};
        size_t name = 0;

        while (name < length && line[name] != ':')
                name++;
        if (name == length)
                return;
        copy(report.control, sizeof(report.control), line, name);
        for (line += name + 1, length -= name + 1; length > 0 && *line == '\t'; line++, length--)
                continue;
        copy(report.step, sizeof(report.step), line, length);
        for (size_t i = 0; i < sizeof(told) / sizeof(told[0]); i++) {
                if (strcmp(report.control, told[i]) == 0)
                        bh_report_send(channel, &report);
        }
}

/* The numbers of all open descriptors but the one that looks. */
static void tell_descriptors(int channel)
{
        struct bh_report report = {.kind = BH_REPORT_TOLD, .control = "Descriptors"};
        DIR *directory = opendir("/proc/self/fd");
        struct dirent *entry;

        if (!directory)
                bh_report_failure(channel, "descriptors.closed", "read /proc/self/fd", -errno);
        while ((entry = readdir(directory))) {
                size_t used = strlen(report.step);
                int fd = (int)strtol(entry->d_name, NULL, 10);

                if (entry->d_name[0] != '.' && fd != dirfd(directory))
                        snprintf(report.step + used, sizeof(report.step) - used, "%s%d",
                                 used > 0 ? " " : "", fd);
        }
        closedir(directory);
        bh_report_send(channel, &report);
}

void bh_guest_tell(int channel)
{
        char text[STATUS_MAX];
        int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
        ssize_t size = fd < 0 ? -1 : read(fd, text, sizeof(text));

        if (size < 0)
                bh_report_failure(channel, "capabilities.empty", "read /proc/self/status", -errno);
        close(fd);
        for (const char *line = text, *end;
             (end = memchr(line, '\n', (size_t)(text + size - line))); line = end + 1)
                tell(channel, line, (size_t)(end - line));
        tell_descriptors(channel);
}
