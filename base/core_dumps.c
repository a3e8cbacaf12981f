/* See core_dumps.h; core(5). */
#include "base/core_dumps.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <unistd.h>

/* Whether the kernel hands core dumps to somebody; yes where that cannot be known. */
static bool is_handed_on(void)
{
        int fd = open("/proc/sys/kernel/core_pattern", O_RDONLY | O_CLOEXEC);
        char first = '|';

        if (fd >= 0 && read(fd, &first, sizeof(first)) < 0)
                first = '|';
        if (fd >= 0)
                close(fd);
        return first == '|' || first == '@';
}

/* For a program that core dumps are piped to, 0 is no limit, and it runs as the host's root; 1
 * is the one value at which it is not started (fs/coredump.c), and is too small for a file. */
int bh_core_dumps_forbid(void)
{
        const struct rlimit one = {1, 1}, none = {0, 0};

        if (setrlimit(RLIMIT_CORE, &one) == 0)
                return 0;
        /* A host that gives us 0, and no right to raise it. */
        if (errno != EPERM || is_handed_on())
                return -errno;
        return setrlimit(RLIMIT_CORE, &none) < 0 ? -errno : 0;
}
