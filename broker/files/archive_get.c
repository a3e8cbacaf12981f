/* The whole tree out, as a tar stream in pax form. Files, directories and links as they are, links
 * not followed; devices, sockets and FIFOs are left out, and special mode bits with them. */
#include <archive.h>
#include <archive_entry.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "broker/files/channel.h"
#include "broker/files/request.h"
#include "broker/files_protocol.h"

BH_DEFINE_CLEANUP(struct archive *, bh_archive_writer, archive_write_free);
BH_DEFINE_CLEANUP(struct archive_entry *, bh_archive_entry, archive_entry_free);
BH_DEFINE_CLEANUP(struct archive_entry_linkresolver *, bh_link_resolver,
                  archive_entry_linkresolver_free);
BH_DEFINE_CLEANUP(DIR *, bh_stream_close, closedir);

struct writer {
        struct bh_files *files;
        struct archive *archive;
        struct archive_entry_linkresolver *links; /* further names of a file */
        struct bh_error *error;
};

static la_ssize_t write_piece(struct archive *archive, void *context, const void *data, size_t size)
{
        struct writer *writer = context;

        (void)archive;
        if (bh_files_send_data(writer->files->channel, data, size, writer->error) < 0)
                return -1;
        return (la_ssize_t)size;
}

static int failed(struct writer *writer)
{
        const char *why = archive_error_string(writer->archive);

        return writer->error->code ? -1
                                   : bh_error_set(writer->error, BH_ERROR_SYSTEM, "tar: %s",
                                                  why ? why : "failed");
}

/* A warning means a name that is not UTF-8, which is then written as the bytes it is. */
static int write_header(struct writer *writer, struct archive_entry *entry)
{
        return archive_write_header(writer->archive, entry) >= ARCHIVE_WARN ? 0 : failed(writer);
}

/* Exactly size bytes, whatever becomes of the file meanwhile: its header is out. */
static int write_bytes(struct writer *writer, int fd, int64_t size)
{
        static char buffer[64 << 10];

        while (size > 0) {
                size_t want = size < (int64_t)sizeof(buffer) ? (size_t)size : sizeof(buffer);
                ssize_t got = bh_read_full(fd, buffer, want);

                if (got < 0)
                        return bh_error_errno(writer->error, errno, "read a file");
                memset(buffer + got, 0, want - (size_t)got);
                if (archive_write_data(writer->archive, buffer, want) != (la_ssize_t)want)
                        return failed(writer);
                size -= (int64_t)want;
        }
        return 0;
}

static int set_target(struct archive_entry *entry, int directory, const char *name)
{
        char target[PATH_MAX];
        ssize_t length = readlinkat(directory, name, target, sizeof(target) - 1);

        if (length < 0)
                return -1;
        target[length] = '\0';
        archive_entry_copy_symlink(entry, target);
        return 0;
}

/* NULL: it is nothing that an archive takes, or it is gone. */
static struct archive_entry *describe(struct writer *writer, int directory, const char *name,
                                      const char *path, const struct stat *st)
{
        _cleanup_(bh_archive_entry_cleanup) struct archive_entry *entry = archive_entry_new();
        struct archive_entry *spare = NULL;

        if (!entry)
                bh_alloc_failed();
        archive_entry_copy_pathname(entry, path);
        archive_entry_set_mode(entry, st->st_mode & (S_IFMT | 0777));
        archive_entry_set_uid(entry, BH_FILES_ID);
        archive_entry_set_gid(entry, BH_FILES_ID);
        archive_entry_set_mtime(entry, st->st_mtim.tv_sec, st->st_mtim.tv_nsec);
        archive_entry_set_size(entry, S_ISREG(st->st_mode) ? st->st_size : 0);
        archive_entry_set_dev(entry, st->st_dev);
        archive_entry_set_ino(entry, (la_int64_t)st->st_ino);
        archive_entry_set_nlink(entry, (unsigned)st->st_nlink);
        if (S_ISLNK(st->st_mode) && set_target(entry, directory, name) < 0)
                return NULL;
        if (S_ISREG(st->st_mode))
                archive_entry_linkify(writer->links, &entry, &spare);
        return bh_steal_ptr(&entry);
}

static int add_file(struct writer *writer, int directory, const char *name, const char *path)
{
        _cleanup_close_ int fd = bh_place_open(directory, name, O_RDONLY | O_NONBLOCK | O_NOCTTY);
        _cleanup_(bh_archive_entry_cleanup) struct archive_entry *entry = NULL;
        struct stat st;

        if (fd < 0 || fstat(fd, &st) < 0)
                return errno == ENOENT ? 0 : bh_place_error(errno, path, writer->error);
        if (!S_ISREG(st.st_mode))
                return 0; /* it changed meanwhile */
        entry = describe(writer, directory, name, path, &st);
        if (write_header(writer, entry) < 0)
                return -1;
        if (archive_entry_hardlink(entry))
                return 0;
        return write_bytes(writer, fd, st.st_size);
}

static int add_other(struct writer *writer, int directory, const char *name, const char *path,
                     const struct stat *st)
{
        _cleanup_(bh_archive_entry_cleanup) struct archive_entry *entry =
                describe(writer, directory, name, path, st);

        return entry ? write_header(writer, entry) : 0;
}

static int add_directory_take(struct writer *writer, int directory, const char *path);

static int add_name(struct writer *writer, int directory, const char *path, const char *name)
{
        _cleanup_free_ char *below = bh_format("%s%s%s", path, path[0] ? "/" : "", name);
        struct stat st;
        int fd;

        bh_files_progress();
        /* What has no path that anyone could ask for is left out, as in the tree. */
        if (strlen(below) >= PATH_MAX || fstatat(directory, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
                return 0;
        if (S_ISREG(st.st_mode))
                return add_file(writer, directory, name, below);
        if ((!S_ISLNK(st.st_mode) && !S_ISDIR(st.st_mode)) || bh_place_is_hidden(below, &st))
                return 0;
        if (add_other(writer, directory, name, below, &st) < 0)
                return -1;
        if (!S_ISDIR(st.st_mode))
                return 0;
        fd = bh_place_open(directory, name, O_RDONLY | O_DIRECTORY);
        if (fd < 0)
                return errno == ENOENT ? 0 : bh_place_error(errno, below, writer->error);
        return add_directory_take(writer, fd, below);
}

static int add_directory_take(struct writer *writer, int directory, const char *path)
{
        _cleanup_(bh_stream_close_cleanup) DIR *stream = fdopendir(directory);
        struct dirent *entry;

        if (!stream) {
                bh_close(directory);
                return bh_place_error(errno, path, writer->error);
        }
        for (errno = 0; (entry = readdir(stream)); errno = 0)
                if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
                    add_name(writer, directory, path, entry->d_name) < 0)
                        return -1;
        return errno == 0 ? 0 : bh_error_errno(writer->error, errno, "read a directory");
}

static int write_archive(struct bh_files *files, struct bh_error *error)
{
        _cleanup_(bh_archive_writer_cleanup) struct archive *archive = archive_write_new();
        _cleanup_(bh_link_resolver_cleanup) struct archive_entry_linkresolver *links =
                archive_entry_linkresolver_new();
        struct writer writer = {files, archive, links, error};
        int root;

        if (!archive || !links)
                bh_alloc_failed();
        archive_entry_linkresolver_set_strategy(links, ARCHIVE_FORMAT_TAR_PAX_RESTRICTED);
        if (archive_write_set_format_pax_restricted(archive) != ARCHIVE_OK ||
            archive_write_set_bytes_in_last_block(archive, 1) != ARCHIVE_OK ||
            archive_write_open(archive, &writer, NULL, write_piece, NULL) != ARCHIVE_OK)
                return failed(&writer);
        root = bh_place_open(files->place.root, "", O_RDONLY | O_DIRECTORY);
        if (root < 0)
                return bh_error_errno(error, errno, "open the workspace");
        if (add_directory_take(&writer, root, "") < 0)
                return -1;
        return archive_write_close(archive) == ARCHIVE_OK ? 0 : failed(&writer);
}

int bh_files_archive_get(struct bh_files *files, const struct bh_files_request *request,
                         struct bh_error *error)
{
        (void)request;
        if (bh_files_send_stream(files->channel, "application/x-tar", error) < 0)
                return -1;
        if (write_archive(files, error) < 0) {
                /* The head is out: the client sees a stream without an end, the log says why. */
                error->reason[0] = '\0';
                return bh_error_prefix(error, "an archive was cut short");
        }
        return bh_files_send_end(files->channel, error);
}
