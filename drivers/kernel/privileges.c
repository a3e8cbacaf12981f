/* See privileges.h. */
#include "drivers/kernel/privileges.h"

#include <errno.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SECURE_BITS                                                                              \
        (SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP |                         \
         SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_KEEP_CAPS_LOCKED | SECBIT_NO_CAP_AMBIENT_RAISE | \
         SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED)

int bh_privileges_bound(void)
{
        unsigned long capability = 0;

        /* The kernel may know more capabilities than our headers: until it says no more. */
        while (prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) == 0)
                capability++;
        if (errno != EINVAL || capability == 0)
                return -errno;
        return prctl(PR_SET_SECUREBITS, SECURE_BITS, 0, 0, 0) < 0 ? -errno : 0;
}

/* With no fix-up, the change of ids clears no capability; capset(2) does. The raw calls: libc's
 * wrappers would signal threads, of which there are none. */
int bh_privileges_drop(uid_t uid, gid_t gid)
{
        struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
        struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {{0, 0, 0}};

        if (syscall(SYS_setresgid, gid, gid, gid) < 0 ||
            syscall(SYS_setresuid, uid, uid, uid) < 0 ||
            prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0 ||
            syscall(SYS_capset, &header, none) < 0)
                return -errno;
        return 0;
}

int bh_privileges_no_new(void)
{
        return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ? -errno : 0;
}
