/* Landlock through its three system calls, which libc does not wrap; see landlock.h. */
#include "drivers/kernel/landlock.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Newer than the headers of the oldest host that we build on (linux/landlock.h). */
#define ACCESS_TRUNCATE  (1ULL << 14) /* ABI 3 */
#define ACCESS_IOCTL_DEV (1ULL << 15) /* ABI 5 */
#define SCOPE_ALL        3ULL         /* ABI 6: abstract unix sockets and signals */

#define CHECK_NAME       ".landlock"

/* The only ones that a rule for something else than a directory may have. */
#define NO_DIRECTORY_RIGHTS                                          \
        (LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE | \
         LANDLOCK_ACCESS_FS_WRITE_FILE | ACCESS_TRUNCATE | ACCESS_IOCTL_DEV)

/* struct landlock_ruleset_attr as of ABI 6; its size tells the kernel how much is meant. */
struct ruleset_attributes {
        uint64_t handled_access_fs;
        uint64_t handled_access_net;
        uint64_t scoped;
};

#define READ_RIGHTS \
        (LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR)
#define FILE_RIGHTS                                                                             \
        (READ_RIGHTS | LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR |          \
         LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_DIR |                         \
         LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_SYM | LANDLOCK_ACCESS_FS_REFER | \
         ACCESS_TRUNCATE)
#define WRITE_RIGHTS (FILE_RIGHTS | LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_FIFO)
#define DEVICE_RIGHTS                                                 \
        (LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR | \
         LANDLOCK_ACCESS_FS_WRITE_FILE | ACCESS_TRUNCATE | ACCESS_IOCTL_DEV)

static uint64_t rights_of_abi(int abi)
{
        uint64_t rights = LANDLOCK_ACCESS_FS_MAKE_SYM | (LANDLOCK_ACCESS_FS_MAKE_SYM - 1);

        if (abi >= 2)
                rights |= LANDLOCK_ACCESS_FS_REFER;
        if (abi >= 3)
                rights |= ACCESS_TRUNCATE;
        if (abi >= 5)
                rights |= ACCESS_IOCTL_DEV;
        return rights;
}

static uint64_t rights_of_rule(enum bh_landlock_access access)
{
        switch (access) {
        case BH_LANDLOCK_EXECUTE:
                break;
        case BH_LANDLOCK_WRITE:
                return WRITE_RIGHTS;
        case BH_LANDLOCK_FILES:
                return FILE_RIGHTS;
        case BH_LANDLOCK_DEVICES:
                return DEVICE_RIGHTS;
        }
        return READ_RIGHTS;
}

int bh_landlock_abi(struct bh_error *error)
{
        long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);

        if (abi < 0)
                return bh_error_errno(error, errno, "Landlock");
        return (int)abi;
}

static int add_rule(int ruleset, const struct bh_landlock_rule *rule, uint64_t known)
{
        struct landlock_path_beneath_attr attributes = {
                .allowed_access = rights_of_rule(rule->access) & known,
                .parent_fd = open(rule->path, O_PATH | O_CLOEXEC),
        };
        struct stat status;
        int result = 0;

        if (attributes.parent_fd < 0)
                return -errno;
        if (fstat(attributes.parent_fd, &status) < 0)
                result = -errno;
        else if (!S_ISDIR(status.st_mode))
                attributes.allowed_access &= NO_DIRECTORY_RIGHTS;
        if (result == 0 &&
            syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &attributes, 0) < 0)
                result = -errno;
        close(attributes.parent_fd);
        return result;
}

int bh_landlock_restrict(int abi, const struct bh_landlock_rule *rules)
{
        struct ruleset_attributes attributes = {
                .handled_access_fs = rights_of_abi(abi),
                .scoped = abi >= 6 ? SCOPE_ALL : 0,
        };
        size_t size = abi >= 6 ? sizeof(attributes) : sizeof(attributes.handled_access_fs);
        int ruleset = (int)syscall(SYS_landlock_create_ruleset, &attributes, size, 0);
        int result = 0;

        if (ruleset < 0)
                return -errno;
        for (; rules->path && result == 0; rules++)
                result = add_rule(ruleset, rules, attributes.handled_access_fs);
        if (result == 0 && syscall(SYS_landlock_restrict_self, ruleset, 0) < 0)
                result = -errno;
        close(ruleset);
        return result;
}

int bh_landlock_check(const char *directory)
{
        int parent = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
        int result = 0;

        if (parent < 0)
                return -errno;
        if (mknodat(parent, CHECK_NAME, S_IFBLK, 0) == 0) {
                unlinkat(parent, CHECK_NAME, 0);
                result = -ENOTRECOVERABLE; /* Landlock let it pass */
        } else if (errno != EACCES) {
                result = errno == EPERM ? -ENOTRECOVERABLE : -errno;
        }
        close(parent);
        return result;
}
