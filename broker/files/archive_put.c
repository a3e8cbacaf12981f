/* An archive in: spooled whole on the host, judged whole, and only then written. libarchive reads;
 * writing goes through place.c, since archive_write_disk(3) looks names up by path. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "broker/files/archive_check.h"
#include "broker/files/channel.h"
#include "broker/files/request.h"
#include "broker/files_protocol.h"

#define READ_BLOCK     ((size_t)64 << 10)
#define DIRECTORY_RWX  0700 /* kept for the owner: what follows has to get in */
#define SPARE_FRACTION 64   /* of the free room is for what the file system adds */

static int spool(struct bh_files *files, int64_t bytes_max, struct bh_error *error)
{
        static char buffer[BH_TRANSFER_PIECE_MAX];
        int64_t have = 0;
        size_t size;
        int more;

        while ((more = bh_files_receive(files->channel, buffer, &size, error)) > 0) {
                have += (int64_t)size;
                if (have > bytes_max)
                        return bh_error_refused(error, "body_too_large", "",
                                                "the archive is larger than the workspace");
                if (bh_write_full(files->spool, buffer, size) < 0)
                        return bh_error_refused(error, "unavailable", "",
                                                "the host has no room to take the archive in");
        }
        return more;
}

static struct archive *open_spool(struct bh_files *files, struct bh_error *error)
{
        _cleanup_(bh_archive_reader_cleanup) struct archive *archive = bh_archive_reader();

        if (lseek(files->spool, 0, SEEK_SET) < 0) {
                (void)bh_error_errno(error, errno, "rewind the archive");
                return NULL;
        }
        if (archive_read_open_fd(archive, files->spool, READ_BLOCK) != ARCHIVE_OK) {
                (void)bh_error_refused(error, "archive_not_allowed", "", "this is no tar archive");
                return NULL;
        }
        return bh_steal_ptr(&archive);
}

/* What is there already must not be in the way of any member. */
static int check_place(const struct bh_place *place, const struct bh_members *members, size_t index,
                       struct bh_error *error)
{
        const char *path = bh_members_path(members, index), *name;
        bool directory = bh_members_is_directory(members, index);
        _cleanup_close_ int parent = -1;
        struct stat st;
        int found = bh_place_parent(place, path, false, &parent, &name, error);

        if (found <= 0)
                return found;
        if (fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
                return errno == ENOENT ? 0 : bh_place_error(errno, path, error);
        if (directory)
                return S_ISDIR(st.st_mode)   ? 0
                       : S_ISLNK(st.st_mode) ? bh_place_error(ELOOP, path, error)
                                             : bh_place_error(ENOTDIR, path, error);
        if (S_ISREG(st.st_mode) || S_ISLNK(st.st_mode))
                return 0;
        return bh_place_error(EISDIR, path, error);
}

static int check_room(const struct bh_place *place, const struct bh_members *members,
                      struct bh_error *error)
{
        struct statvfs room;
        int64_t free_bytes;

        if (fstatvfs(place->root, &room) < 0)
                return bh_error_errno(error, errno, "look at the workspace");
        free_bytes = (int64_t)(room.f_bavail * room.f_frsize);
        if (bh_members_room(members, (int64_t)room.f_frsize) >
                    free_bytes - free_bytes / SPARE_FRACTION ||
            bh_members_count(members) > room.f_favail)
                return bh_error_refused(error, "workspace_full", "",
                                        "the workspace has no room for the archive");
        return 0;
}

static int check(struct bh_files *files, struct bh_members *members, struct bh_error *error)
{
        _cleanup_(bh_archive_reader_cleanup) struct archive *archive = open_spool(files, error);

        if (!archive || bh_archive_check(archive, members, error) < 0)
                return -1;
        for (size_t i = 0; i < bh_members_count(members); i++)
                if (check_place(&files->place, members, i, error) < 0)
                        return -1;
        return check_room(&files->place, members, error);
}

struct output {
        int fd;
        const char *path;
};

static int write_piece(void *context, const void *data, size_t size, int64_t offset,
                       struct bh_error *error)
{
        const struct output *output = context;
        const char *at = data;

        bh_files_progress();
        while (size > 0) {
                ssize_t written = pwrite(output->fd, at, size, offset);

                if (written < 0 && errno == EINTR)
                        continue;
                if (written < 0)
                        return bh_place_error(errno, output->path, error);
                at += written;
                offset += written;
                size -= (size_t)written;
        }
        return 0;
}

static int extract_file(struct bh_files *files, struct archive *archive,
                        struct archive_entry *entry, const char *path, struct bh_error *error)
{
        _cleanup_close_ int fd = bh_place_unnamed(&files->place, error);
        struct output output = {fd, path};
        const struct timespec times[2] = {
                {.tv_nsec = UTIME_OMIT},
                {.tv_sec = archive_entry_mtime(entry), .tv_nsec = archive_entry_mtime_nsec(entry)},
        };

        if (fd < 0 || bh_archive_data(archive, write_piece, &output, error) < 0)
                return -1;
        if (ftruncate(fd, archive_entry_size(entry)) < 0 ||
            fchmod(fd, archive_entry_perm(entry) & 0777) < 0)
                return bh_place_error(errno, path, error);
        if (archive_entry_mtime_is_set(entry) && futimens(fd, times) < 0)
                return bh_place_error(errno, path, error);
        return bh_place_name(&files->place, fd, path, error);
}

static int extract_member(struct bh_files *files, struct archive *archive,
                          struct archive_entry *entry, struct bh_error *error)
{
        struct bh_member member = bh_archive_member(entry);
        _cleanup_free_ char *path = NULL, *target = NULL;

        bh_files_progress();
        if (bh_member_path(member.name, &path, error) < 0)
                return -1;
        if (path[0] == '\0')
                return 0;
        if (member.hard_link) {
                if (bh_member_path(member.target, &target, error) < 0)
                        return -1;
                return bh_place_link(&files->place, target, path, error);
        }
        if (S_ISDIR(member.mode))
                return bh_place_directory(&files->place, path, (member.mode & 0777) | DIRECTORY_RWX,
                                          error);
        if (S_ISLNK(member.mode))
                return bh_place_symlink(&files->place, member.target, path, error);
        return extract_file(files, archive, entry, path, error);
}

static int extract(struct bh_files *files, struct bh_error *error)
{
        _cleanup_(bh_archive_reader_cleanup) struct archive *archive = open_spool(files, error);
        struct archive_entry *entry;
        int more = archive ? 1 : -1;

        while (more > 0 && (more = bh_archive_next(archive, &entry, error)) > 0)
                if (extract_member(files, archive, entry, error) < 0)
                        return -1;
        return more;
}

int bh_files_archive_put(struct bh_files *files, const struct bh_files_request *request,
                         struct bh_error *error)
{
        _cleanup_(bh_members_cleanup) struct bh_members *members =
                bh_members_new(request->disk_bytes);

        if (spool(files, request->disk_bytes + BH_FILES_ARCHIVE_OVERHEAD, error) < 0 ||
            check(files, members, error) < 0 || extract(files, error) < 0)
                return -1;
        bh_files_release(files);
        return bh_files_send_head_take(
                files->channel, 200,
                json_pack("{sI}", "members", (json_int_t)bh_members_count(members)), -1, error);
}
