/* Landlock for isolate.h: every kind of access that the kernel can handle is handled, and no rule
 * allows any. Descriptors that are open already go on working
 * (https://docs.kernel.org/userspace-api/landlock.html). */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "api/isolate.h"
#include "base/cleanup.h"
#include "base/fd.h"

/* The kernel's UAPI; Debian 12's headers end at ABI 2. */
struct ruleset {
        uint64_t access_fs, access_net, scoped;
};

#define GET_VERSION 1U
#define NET_ALL     UINT64_C(3) /* BIND_TCP, CONNECT_TCP: ABI 4 */
#define SCOPED_ALL  UINT64_C(3) /* ABSTRACT_UNIX_SOCKET, SIGNAL: ABI 6 */
#define FS_RIGHTS_1 13          /* EXECUTE … MAKE_SYM: ABI 1; one more each in 2, 3 and 5 */

static uint64_t fs_rights(long abi)
{
        int count = FS_RIGHTS_1 + (abi >= 2) + (abi >= 3) + (abi >= 5);

        return (UINT64_C(1) << count) - 1;
}

/* The readback: even "/" must be out of reach. */
static bool files_are_out_of_reach(void)
{
        int root = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        if (root >= 0) {
                bh_close(root);
                return false;
        }
        return errno == EACCES;
}

int bh_isolate_landlock(struct bh_error *error)
{
        long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, GET_VERSION);
        struct ruleset ruleset = {.access_fs = fs_rights(abi)};
        size_t size = sizeof(uint64_t);
        _cleanup_close_ int fd = -1;

        if (abi >= 4) {
                ruleset.access_net = NET_ALL;
                size += sizeof(uint64_t);
        }
        if (abi >= 6) {
                ruleset.scoped = SCOPED_ALL;
                size += sizeof(uint64_t);
        }
        if (abi >= 1)
                fd = (int)syscall(SYS_landlock_create_ruleset, &ruleset, size, 0);
        if (fd < 0 || syscall(SYS_landlock_restrict_self, fd, 0) < 0) {
                (void)bh_error_errno(error, errno, "landlock");
                return bh_error_control(error, "landlock");
        }
        if (!files_are_out_of_reach()) {
                (void)bh_error_set(error, BH_ERROR_CONTROL, "files can still be opened");
                return bh_error_control(error, "landlock");
        }
        return 0;
}
