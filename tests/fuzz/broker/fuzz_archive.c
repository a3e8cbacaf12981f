/* Fuzzes broker/files/archive_check: whatever the bytes are, every member that is accepted lies in
 * the tree by a plain path, and the bytes of all files fit. */
#include <stdlib.h>
#include <string.h>

#include "broker/files/archive_check.h"

#define BYTES_MAX ((int64_t)1 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_path(const char *path)
{
        if (path[0] == '\0' || strlen(path) > 4095)
                abort();
        for (const char *part = path;; part++) {
                size_t length = strcspn(part, "/");

                if (length == 0 || length > 255 || (length == 1 && part[0] == '.') ||
                    (length == 2 && memcmp(part, "..", 2) == 0))
                        abort();
                part += length;
                if (*part == '\0')
                        return;
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        _cleanup_(bh_archive_reader_cleanup) struct archive *archive = bh_archive_reader();
        _cleanup_(bh_members_cleanup) struct bh_members *members = bh_members_new(BYTES_MAX);

        if (archive_read_open_memory(archive, data, size) != ARCHIVE_OK ||
            bh_archive_check(archive, members, NULL) < 0)
                return 0;
        for (size_t i = 0; i < bh_members_count(members); i++)
                check_path(bh_members_path(members, i));
        if (bh_members_room(members, 1) > BYTES_MAX + BH_MEMBERS_MAX)
                abort();
        return 0;
}
