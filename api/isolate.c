/* See isolate.h. */
#include "api/isolate.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "broker/protocol.h"

#define FILES_MAX 65536 /* descriptors, if the hard limit gives them */

/* errno of a failed step as the failure of a control. */
static int control_failed(struct bh_error *error, const char *control)
{
        (void)bh_error_errno(error, errno, "%s", control);
        return bh_error_control(error, control);
}

static int limit(int resource, rlim_t most, struct bh_error *error)
{
        struct rlimit value;

        if (getrlimit((__rlimit_resource_t)resource, &value) < 0)
                return control_failed(error, "limits");
        if (value.rlim_max > most)
                value.rlim_max = most;
        value.rlim_cur = value.rlim_max;
        if (setrlimit((__rlimit_resource_t)resource, &value) < 0)
                return control_failed(error, "limits");
        return 0;
}

int bh_isolate_early(struct bh_error *error)
{
        tzset(); /* gmtime(3) reads the time zone's file, once, even for UTC */
        if (signal(SIGPIPE, SIG_IGN) == SIG_ERR)
                return control_failed(error, "signals");
        if (close_range(BH_API_CHANNEL_FD + 1, ~0U, 0) < 0)
                return control_failed(error, "descriptors.closed");
        if (prctl(PR_SET_DUMPABLE, 0) < 0)
                return control_failed(error, "no_dump");
        if (limit(RLIMIT_CORE, 0, error) < 0 || limit(RLIMIT_NOFILE, FILES_MAX, error) < 0)
                return -1;
        return 0;
}

/* The bounding set first: afterwards nothing could be gained even by a file's capabilities. */
static int drop_bounding_set(struct bh_error *error)
{
        for (int capability = 0; prctl(PR_CAPBSET_READ, capability) >= 0; capability++)
                if (prctl(PR_CAPBSET_DROP, capability) < 0)
                        return control_failed(error, "capabilities.bounding");
        if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0)
                return control_failed(error, "capabilities.ambient");
        return 0;
}

static int become(uid_t uid, struct bh_error *error)
{
        gid_t gid = (gid_t)uid;
        uid_t real, effective, saved;

        if (setgroups(0, NULL) < 0 || setresgid(gid, gid, gid) < 0)
                return control_failed(error, "identity.group");
        if (setresuid(uid, uid, uid) < 0)
                return control_failed(error, "identity.user");
        if (getresuid(&real, &effective, &saved) < 0 || real != uid || effective != uid ||
            saved != uid || getgroups(0, NULL) != 0) {
                errno = EPERM;
                return control_failed(error, "identity.user");
        }
        return 0;
}

static int drop_capabilities(struct bh_error *error)
{
        struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
        struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {{0, 0, 0}};
        struct __user_cap_data_struct seen[_LINUX_CAPABILITY_U32S_3];

        if (syscall(SYS_capset, &header, none) < 0 || syscall(SYS_capget, &header, seen) < 0)
                return control_failed(error, "capabilities.empty");
        for (size_t i = 0; i < _LINUX_CAPABILITY_U32S_3; i++) {
                if (!seen[i].effective && !seen[i].permitted && !seen[i].inheritable)
                        continue;
                errno = EPERM;
                return control_failed(error, "capabilities.empty");
        }
        return 0;
}

int bh_isolate_final(uid_t uid, struct bh_error *error)
{
        if (limit(RLIMIT_NPROC, 0, error) < 0)
                return -1;
        if (drop_bounding_set(error) < 0 || become(uid, error) < 0 || drop_capabilities(error) < 0)
                return -1;
        if (prctl(PR_SET_DUMPABLE, 0) < 0 || prctl(PR_GET_DUMPABLE) != 0)
                return control_failed(error, "no_dump");
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
            prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1)
                return control_failed(error, "no_new_privs");
        if (bh_isolate_landlock(error) < 0)
                return -1;
        return bh_isolate_seccomp(error);
}
