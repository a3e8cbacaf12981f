/* One file: its descriptor out, its bytes in, its end. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "broker/files/channel.h"
#include "broker/files/request.h"

#define FILE_MODE 0644 /* of a new one; one that is replaced hands its own on */

int bh_files_get(struct bh_files *files, const struct bh_files_request *request,
                 struct bh_error *error)
{
        /* A FIFO would wait for a writer without O_NONBLOCK. */
        _cleanup_close_ int fd =
                bh_place_open(files->place.root, request->path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
        struct stat st;

        if (fd < 0)
                return bh_place_error(errno, request->path, error);
        if (fstat(fd, &st) < 0)
                return bh_place_error(errno, request->path, error);
        if (!S_ISREG(st.st_mode))
                return bh_place_error(EISDIR, request->path, error);
        return bh_files_send_head_take(files->channel, 200, NULL, fd, error);
}

static int receive_into(struct bh_files *files, int fd, const char *path, struct bh_error *error)
{
        static char buffer[BH_TRANSFER_PIECE_MAX];
        size_t size;
        int more;

        while ((more = bh_files_receive(files->channel, buffer, &size, error)) > 0)
                if (bh_write_full(fd, buffer, size) < 0)
                        return bh_place_error(errno, path, error);
        return more;
}

int bh_files_put(struct bh_files *files, const struct bh_files_request *request,
                 struct bh_error *error)
{
        struct stat st = {.st_mode = 0};
        int there = bh_place_check_file(&files->place, request->path, &st, error);
        _cleanup_close_ int fd = there < 0 ? -1 : bh_place_unnamed(&files->place, error);

        if (fd < 0 || receive_into(files, fd, request->path, error) < 0)
                return -1;
        /* Looked at again: an upload may take long. */
        there = bh_place_check_file(&files->place, request->path, &st, error);
        if (there < 0)
                return -1;
        if (fchmod(fd, there ? st.st_mode & 0777 : FILE_MODE) < 0)
                return bh_place_error(errno, request->path, error);
        if (bh_place_name(&files->place, fd, request->path, error) < 0)
                return -1;
        if (fstat(fd, &st) < 0)
                return bh_place_error(errno, request->path, error);
        bh_files_release(files);
        return bh_files_send_head_take(files->channel, there ? 200 : 201,
                                       bh_place_describe(request->path, &st), -1, error);
}

int bh_files_delete(struct bh_files *files, const struct bh_files_request *request,
                    struct bh_error *error)
{
        _cleanup_close_ int parent = -1;
        const char *name;
        struct stat st;
        int found = bh_place_parent(&files->place, request->path, false, &parent, &name, error);

        if (found < 0)
                return -1;
        if (found == 0)
                return bh_place_error(ENOENT, request->path, error);
        /* Of a link the link itself goes: nothing is followed. */
        if (fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
            unlinkat(parent, name, S_ISDIR(st.st_mode) ? AT_REMOVEDIR : 0) < 0)
                return bh_place_error(errno, request->path, error);
        bh_files_release(files);
        return bh_files_send_head_take(files->channel, 204, NULL, -1, error);
}
