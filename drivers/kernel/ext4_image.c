/* Size and features of our ext4 images; see ext4_image.h. The arithmetic follows the on-disk
 * layout (Documentation/filesystems/ext4/) for the features asked for below; that it is right
 * is seen in the superblock that mkfs wrote. */
#include "drivers/kernel/ext4_image.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/spawn.h"

#define BLOCK_BYTES      4096
#define GROUP_BLOCKS     ((int64_t)8 * BLOCK_BYTES) /* one bitmap block's worth */
#define DESCRIPTOR_BYTES 32
#define INODE_BYTES      256
#define BYTES_AN_INODE   16384
#define INODES_MIN       256
#define TREE_BLOCKS      5    /* the root directory 1, lost+found 4 */
#define JOURNAL_MIB      4    /* the least that ext4 takes with this block size */
#define JOURNAL_TOTAL    2048 /* blocks; mkfs gives no journal to a smaller file system */
#define ROOM_TOLERANCE   3    /* percent */
#define OUTPUT_BYTES_MAX 4096
#define IMAGE_FD         3 /* its number in mkfs */

/* ext4_calculate_resv_clusters(): kept by the kernel for its own emergencies. */
#define RESERVED_PART    50
#define RESERVED_MAX     4096

/* Nothing from the host's mke2fs.conf: the size depends on the features. */
#define FEATURES                                                                             \
        "none,ext_attr,dir_index,filetype,extent,flex_bg,sparse_super,large_file,huge_file," \
        "dir_nlink,extra_isize,metadata_csum"

static int64_t blocks_for(int64_t amount, int64_t block)
{
        return (amount + block - 1) / block;
}

int64_t bh_ext4_image_inodes(int64_t bytes)
{
        int64_t inodes = bytes / BYTES_AN_INODE;

        return inodes < INODES_MIN ? INODES_MIN : inodes;
}

static bool is_power_of(int64_t number, int64_t base)
{
        while (number > 1 && number % base == 0)
                number /= base;
        return number == 1;
}

/* Groups that hold a copy of the superblock and the descriptors (sparse_super). */
static int64_t super_copies(int64_t groups)
{
        int64_t copies = 0;

        for (int64_t group = 0; group < groups; group++) {
                if (group < 2 || is_power_of(group, 3) || is_power_of(group, 5) ||
                    is_power_of(group, 7))
                        copies++;
        }
        return copies;
}

static int64_t reserved(int64_t total)
{
        return total / RESERVED_PART < RESERVED_MAX ? total / RESERVED_PART : RESERVED_MAX;
}

/* Blocks of a file system of this size that files cannot have. */
static int64_t overhead(int64_t total, int64_t inodes, int64_t journal_mib)
{
        int64_t groups = blocks_for(total, GROUP_BLOCKS);
        int64_t group_inodes = blocks_for(blocks_for(inodes, groups), 8) * 8;
        int64_t table = blocks_for(group_inodes * INODE_BYTES, BLOCK_BYTES);
        int64_t descriptors = blocks_for(groups * DESCRIPTOR_BYTES, BLOCK_BYTES);

        return super_copies(groups) * (1 + descriptors) + groups * (2 + table) + TREE_BLOCKS +
               journal_mib * (1 << 20) / BLOCK_BYTES + reserved(total);
}

static int64_t total_blocks(int64_t bytes, int64_t journal_mib)
{
        int64_t room = blocks_for(bytes, BLOCK_BYTES);
        int64_t inodes = bh_ext4_image_inodes(bytes);
        int64_t total = room, next = room + overhead(room, inodes, journal_mib);

        /* Grows by ever less: what was added needs a little overhead itself. */
        while (next > total) {
                total = next;
                next = room + overhead(total, inodes, journal_mib);
        }
        return total;
}

/* MiB of it; none for an image too small to get one from mkfs. */
static int64_t journal_size(int64_t bytes, bool journal)
{
        return journal && total_blocks(bytes, JOURNAL_MIB) >= JOURNAL_TOTAL ? JOURNAL_MIB : 0;
}

int64_t bh_ext4_image_bytes(int64_t bytes, bool journal)
{
        return total_blocks(bytes, journal_size(bytes, journal)) * BLOCK_BYTES;
}

/* What is free according to the superblock (ext4/super.rst), less what the kernel keeps. */
static int check_room(int fd, int64_t bytes, struct bh_error *error)
{
        unsigned char super[1024];
        uint32_t total, free_blocks;
        int64_t room;

        if (bh_pread_full(fd, super, sizeof(super), 1024) != (ssize_t)sizeof(super))
                return bh_error_errno(error, EIO, "read the new superblock");
        memcpy(&total, super + 0x4, sizeof(total));
        memcpy(&free_blocks, super + 0xC, sizeof(free_blocks));
        room = ((int64_t)le32toh(free_blocks) - reserved(le32toh(total))) * BLOCK_BYTES;
        if (room < bytes - bytes * ROOM_TOLERANCE / 100 ||
            room > bytes + bytes * ROOM_TOLERANCE / 100 + BLOCK_BYTES)
                return bh_error_set(error, BH_ERROR_SYSTEM,
                                    "mkfs.ext4 left room for %lld bytes, not %lld", (long long)room,
                                    (long long)bytes);
        return 0;
}

static const char *find_tool(void)
{
        static const char *const places[] = {"/sbin/mkfs.ext4", "/usr/sbin/mkfs.ext4"};

        for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
                if (access(places[i], X_OK) == 0)
                        return places[i];
        }
        return NULL;
}

/* mkfs's last word, on one line, for an error message. */
static void trim(char *output)
{
        size_t size = strlen(output);

        while (size > 0 && output[size - 1] == '\n')
                output[--size] = '\0';
        for (char *at = output; *at; at++) {
                if (*at == '\n')
                        *at = ' ';
        }
}

static int run_mkfs(const char *tool, int fd, char *inodes, char *extended, int64_t journal_mib,
                    struct bh_error *error)
{
        _cleanup_free_ char *journal = bh_format("size=%lld", (long long)journal_mib);
        char features[] = FEATURES ",has_journal";
        char image[] = "/proc/self/fd/3";
        char *argv[] = {"mkfs.ext4", "-q",  "-F", "-b",    "4096", "-I",     "256",
                        "-m",        "0",   "-N", inodes,  "-O",   features, "-E",
                        extended,    image, "-J", journal, NULL};
        char *envp[] = {"MKE2FS_CONFIG=/dev/null", NULL};
        const struct bh_spawn_fd fds[] = {{.source = fd, .target = IMAGE_FD}};
        const struct bh_spawn spawn = {
                .path = tool, .argv = argv, .envp = envp, .fds = fds, .fd_count = 1};
        _cleanup_free_ char *output = NULL;
        int status;

        if (journal_mib == 0) {
                features[strlen(FEATURES)] = '\0';
                argv[sizeof(argv) / sizeof(argv[0]) - 3] = NULL;
        }
        status = bh_spawn_capture(&spawn, OUTPUT_BYTES_MAX, &output, error);
        if (status < 0)
                return -1;
        if (status == 0)
                return 0;
        trim(output);
        return bh_error_set(error, BH_ERROR_SYSTEM, "mkfs.ext4 ended with %d: %s", status, output);
}

int bh_ext4_format(int fd, int64_t bytes, bool journal, uid_t uid, gid_t gid,
                   struct bh_error *error)
{
        _cleanup_free_ char *inodes = bh_format("%lld", (long long)bh_ext4_image_inodes(bytes));
        /* The file is all holes, so there is nothing to discard and nothing to zero. */
        _cleanup_free_ char *extended =
                bh_format("root_owner=%u:%u,nodiscard,lazy_itable_init=1,lazy_journal_init=1",
                          (unsigned)uid, (unsigned)gid);
        const char *tool = find_tool();

        if (!tool)
                return bh_error_set(error, BH_ERROR_UNAVAILABLE,
                                    "mkfs.ext4 is not installed: apt-get install e2fsprogs");
        if (ftruncate(fd, bh_ext4_image_bytes(bytes, journal)) < 0)
                return bh_error_errno(error, errno, "size the image");
        if (run_mkfs(tool, fd, inodes, extended, journal_size(bytes, journal), error) < 0)
                return -1;
        return check_room(fd, bytes, error);
}
