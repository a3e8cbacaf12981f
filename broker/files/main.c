/* bulkhead-files: serves one request for files of one workspace, then ends. Started by bulkheadd
 * as root with the workspace's image; mounts it where nobody else sees it, becomes the one who
 * owns what is in it, and talks to bulkhead-api over a socket of its own. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "broker/files/channel.h"
#include "broker/files/isolate.h"
#include "broker/files/request.h"
#include "broker/files_protocol.h"
#include "drivers/kernel/image.h"

void bh_files_release(struct bh_files *files)
{
        files->release = bh_close(files->release);
}

static int serve(struct bh_files *files, const struct bh_files_request *request,
                 struct bh_error *error)
{
        switch (request->op) {
        case BH_OP_FILE_GET:
                return bh_files_get(files, request, error);
        case BH_OP_FILE_PUT:
                return bh_files_put(files, request, error);
        case BH_OP_FILE_DELETE:
                return bh_files_delete(files, request, error);
        case BH_OP_TREE_GET:
                return bh_files_tree(files, request, error);
        case BH_OP_ARCHIVE_GET:
                return bh_files_archive_get(files, request, error);
        case BH_OP_ARCHIVE_PUT:
                return bh_files_archive_put(files, request, error);
        default:
                return bh_error_set(error, BH_ERROR_PROTOCOL, "this is no operation on files");
        }
}

/* Mounts and isolates; from then on nothing but the tree is in reach. */
static int open_place(struct bh_files *files, const struct bh_files_request *request,
                      struct bh_error *error)
{
        bool writes = bh_files_request_writes(request);
        _cleanup_close_ int mount = bh_image_mount(BH_FILES_IMAGE_FD, !writes, error);

        if (mount < 0)
                return -1;
        bh_close(BH_FILES_IMAGE_FD);
        files->place.descriptors = open("/proc/self/fd", O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (files->place.descriptors < 0)
                return bh_error_errno(error, errno, "open /proc/self/fd");
        if (bh_files_isolate_final(mount, writes, request->disk_bytes + BH_FILES_ARCHIVE_OVERHEAD,
                                   error) < 0)
                return -1;
        files->place.root = bh_place_open(mount, "", O_RDONLY | O_DIRECTORY);
        if (files->place.root < 0)
                return bh_error_errno(error, errno, "open the workspace");
        return 0;
}

int main(void)
{
        struct bh_files files = {
                .place = {.root = -1, .descriptors = -1},
                .channel = BH_FILES_TRANSFER_FD,
                .release = BH_FILES_RELEASE_FD,
                .spool = BH_FILES_SPOOL_FD,
        };
        _cleanup_(bh_files_request_clear) struct bh_files_request request = {.document = NULL};
        struct bh_error error = {.code = BH_ERROR_NONE};
        int result;

        bh_log_open("bulkhead-files", BH_LOG_INFO, STDERR_FILENO);
        bh_files_progress();
        result = bh_files_isolate_early(&error);
        if (result == 0)
                result = bh_files_request_read(BH_FILES_REQUEST_FD, &request, &error);
        if (result == 0)
                result = open_place(&files, &request, &error);
        if (result == 0)
                result = serve(&files, &request, &error);
        if (result < 0 && error.code != BH_ERROR_CLOSED) {
                bh_files_release(&files);
                bh_files_send_problem(files.channel, &error);
        }
        return result < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
