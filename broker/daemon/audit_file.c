/* The files of the audit log. */
#include "broker/daemon/audit_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/audit_chain.h"
#include "base/cleanup.h"

#define SUFFIX ".jsonl"
#define DIGITS 20

void bh_audit_file_name(int64_t first, char ret[BH_AUDIT_NAME_SIZE])
{
        snprintf(ret, BH_AUDIT_NAME_SIZE, "%0*" PRId64 SUFFIX, DIGITS, first);
}

static int64_t parse_name(const char *name)
{
        if (strlen(name) != DIGITS + sizeof(SUFFIX) - 1 || strspn(name, "0123456789") != DIGITS ||
            strcmp(name + DIGITS, SUFFIX) != 0)
                return -1;
        return strtoll(name, NULL, 10);
}

static int compare(const void *a, const void *b)
{
        int64_t first = *(const int64_t *)a, second = *(const int64_t *)b;
        return (first > second) - (first < second);
}

static void close_directory(DIR **stream)
{
        if (*stream)
                closedir(*stream);
}

int bh_audit_files(int directory, int64_t **ret, size_t *ret_count, struct bh_error *error)
{
        int fd = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        _cleanup_(close_directory) DIR *stream = fd < 0 ? NULL : fdopendir(fd);
        if (!stream) {
                int errnum = errno;
                bh_close(fd);
                return bh_error_errno(error, errnum, "list the audit log");
        }
        _cleanup_free_ int64_t *files = NULL;
        size_t count = 0;
        for (struct dirent *entry = readdir(stream); entry; entry = readdir(stream)) {
                int64_t first = parse_name(entry->d_name);
                if (first < 1)
                        continue;
                files = bh_realloc_array(files, count + 1, sizeof(*files));
                files[count++] = first;
        }
        if (count > 0)
                qsort(files, count, sizeof(*files), compare);
        *ret = bh_steal_ptr(&files);
        *ret_count = count;
        return 0;
}

/* Bytes from offset up to and with the newline; 0 when there is none. */
static ssize_t read_line(int fd, off_t offset, char **ret, struct bh_error *error)
{
        size_t size = 4096;
        for (;;) {
                _cleanup_free_ char *buffer = bh_alloc(size + 1);
                ssize_t got = bh_pread_full(fd, buffer, size, offset);
                if (got < 0)
                        return bh_error_errno(error, errno, "read the audit log");
                char *newline = memchr(buffer, '\n', (size_t)got);
                if (newline) {
                        ssize_t length = newline - buffer;
                        buffer[length] = 0;
                        *ret = bh_steal_ptr(&buffer);
                        return length + 1;
                }
                if ((size_t)got < size)
                        return 0;
                if (size > BH_AUDIT_LINE_MAX)
                        return bh_error_set(error, BH_ERROR_INVALID,
                                            "an audit line is longer than any entry");
                size *= 4;
        }
}

int bh_audit_line(int fd, off_t offset, json_t **ret, off_t *ret_next, struct bh_error *error)
{
        _cleanup_free_ char *text = NULL;
        json_t *entry = NULL;
        ssize_t length = read_line(fd, offset, &text, error);
        if (length <= 0)
                return (int)length;
        if (bh_json_parse(text, (size_t)length - 1, &entry, error) < 0)
                return bh_error_prefix(error, "audit log at byte %lld", (long long)offset);
        *ret = entry;
        *ret_next = offset + length;
        return 1;
}

/* Start of the line that the byte at offset lies in, not before low. */
static int line_start(int fd, off_t low, off_t offset, off_t *ret, struct bh_error *error)
{
        char buffer[4096];
        while (offset > low) {
                size_t size = offset - low > (off_t)sizeof(buffer) ? sizeof(buffer)
                                                                   : (size_t)(offset - low);
                if (bh_pread_full(fd, buffer, size, offset - (off_t)size) != (ssize_t)size)
                        return bh_error_errno(error, errno, "read the audit log");
                char *newline = memrchr(buffer, '\n', size);
                if (newline) {
                        *ret = offset - (off_t)size + (newline - buffer) + 1;
                        return 0;
                }
                offset -= (off_t)size;
        }
        *ret = low;
        return 0;
}

int bh_audit_seek(int fd, int64_t after, off_t *ret, struct bh_error *error)
{
        struct stat st;
        if (fstat(fd, &st) < 0)
                return bh_error_errno(error, errno, "read the audit log");
        off_t low = 0, high = st.st_size; /* both at line starts */
        while (low < high) {
                _cleanup_json_ json_t *entry = NULL;
                off_t start = 0, next = 0;
                if (line_start(fd, low, low + (high - low) / 2, &start, error) < 0)
                        return -1;
                int r = bh_audit_line(fd, start, &entry, &next, error);
                if (r < 0)
                        return -1;
                if (r == 0 || json_integer_value(json_object_get(entry, "sequence")) > after)
                        high = start;
                else
                        low = next;
        }
        *ret = low;
        return 0;
}
