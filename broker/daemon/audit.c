/* Writing, reading and verifying the audit log. */
#include "broker/daemon/audit.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/audit_chain.h"
#include "base/clock.h"
#include "broker/daemon/audit_file.h"

struct bh_audit {
        int directory; /* borrowed */
        int fd;        /* the last file, for appending and reading; -1 before the first entry */
        int64_t file_max;
        off_t size;      /* of the last file's whole lines */
        int64_t written; /* last entry in the file */
        bool torn;       /* a write failed and may have left half a line */
        /* lines for the file: first those that are accepted, then this turn's */
        char *buffer;
        size_t accepted, used, capacity;
        int64_t sequence; /* last accepted entry */
        char hash[BH_DIGEST_TEXT_SIZE];
        int64_t next_sequence; /* last entry of all */
        char next_hash[BH_DIGEST_TEXT_SIZE];
};

/* Walks a whole file. *ret_end: after the last whole entry. */
static int check_file(int fd, struct bh_chain *chain, off_t *ret_end, struct bh_error *error)
{
        off_t offset = 0;
        for (;;) {
                _cleanup_json_ json_t *entry = NULL;
                off_t next = 0;
                int r = bh_audit_line(fd, offset, &entry, &next, error);
                if (r < 0)
                        return -1;
                if (r == 0)
                        break;
                if (bh_chain_check(chain, entry, error) < 0)
                        return -1;
                offset = next;
        }
        *ret_end = offset;
        return 0;
}

static int open_file(struct bh_audit *audit, int64_t first, struct bh_error *error)
{
        char name[BH_AUDIT_NAME_SIZE];
        bh_audit_file_name(first, name);
        int fd = openat(audit->directory, name,
                        O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (fd < 0 || fsync(audit->directory) < 0) {
                int errnum = errno;
                bh_close(fd);
                return bh_error_errno(error, errnum, "open %s", name);
        }
        bh_close(audit->fd);
        audit->fd = fd;
        return 0;
}

/* Cuts an unfinished last line. */
static int cut(struct bh_audit *audit, off_t end, int64_t *ret_cut, struct bh_error *error)
{
        struct stat st;
        if (fstat(audit->fd, &st) < 0)
                return bh_error_errno(error, errno, "audit log");
        audit->size = end;
        *ret_cut = st.st_size - end;
        if (st.st_size > end && (ftruncate(audit->fd, end) < 0 || fsync(audit->fd) < 0))
                return bh_error_errno(error, errno, "cut the unfinished audit entry");
        return 0;
}

/* Opens the file and takes up its chain. *ret_end: after its last whole entry. */
static int take_up(struct bh_audit *audit, int64_t first, struct bh_chain *chain, off_t *ret_end,
                   struct bh_error *error)
{
        if (chain->count + 1 != first)
                return bh_error_set(error, BH_ERROR_INVALID, "entry %" PRId64 " is missing",
                                    chain->count + 1);
        if (open_file(audit, first, error) < 0)
                return -1;
        return check_file(audit->fd, chain, ret_end, error);
}

int bh_audit_open(int directory, int64_t file_max, struct bh_audit **ret, int64_t *ret_cut,
                  struct bh_error *error)
{
        _cleanup_(bh_audit_cleanup) struct bh_audit *audit = bh_alloc(sizeof(*audit));
        _cleanup_free_ int64_t *files = NULL;
        struct bh_chain chain;
        size_t count = 0;
        off_t end = 0;
        audit->directory = directory;
        audit->fd = -1;
        audit->file_max = file_max;
        if (bh_audit_files(directory, &files, &count, error) < 0)
                return -1;
        /* The last two: a crash between making a file and its first entry leaves an empty one,
         * and the chain then ends in the file before. */
        size_t start = count > 2 ? count - 2 : 0;
        bh_chain_start(&chain);
        if (start < count && files[start] > 1)
                bh_chain_start_at(&chain, files[start]);
        for (size_t i = start; i < count; i++)
                if (take_up(audit, files[i], &chain, &end, error) < 0)
                        return bh_error_prefix(error, "audit log");
        int64_t cut_bytes = 0;
        if (count > 0 && cut(audit, end, &cut_bytes, error) < 0)
                return -1;
        audit->written = audit->sequence = chain.count;
        memcpy(audit->hash, chain.previous, sizeof(audit->hash));
        bh_audit_rollback(audit);
        *ret = bh_steal_ptr(&audit);
        *ret_cut = cut_bytes;
        return 0;
}

void bh_audit_free(struct bh_audit *audit)
{
        if (!audit)
                return;
        bh_close(audit->fd);
        free(audit->buffer);
        free(audit);
}

static void append_line(struct bh_audit *audit, const char *line)
{
        size_t length = strlen(line);
        if (audit->used + length + 1 > audit->capacity) {
                audit->capacity = (audit->used + length + 1) * 2;
                audit->buffer = bh_realloc_array(audit->buffer, audit->capacity, 1);
        }
        memcpy(audit->buffer + audit->used, line, length);
        audit->buffer[audit->used + length] = '\n';
        audit->used += length + 1;
        audit->next_sequence++;
}

void bh_audit_add_take(struct bh_audit *audit, const char *actor, const char *action,
                       json_t *subject, json_t *detail)
{
        _cleanup_json_ json_t *owned_subject = subject ? subject : json_object();
        _cleanup_json_ json_t *owned_detail = detail ? detail : json_object();
        char hash[BH_DIGEST_TEXT_SIZE];
        _cleanup_json_ json_t *entry =
                bh_audit_entry(audit->next_sequence + 1, bh_realtime_ms(), actor, action,
                               owned_subject, owned_detail, audit->next_hash, hash);
        _cleanup_free_ char *line = bh_json_canonical(entry);
        append_line(audit, line);
        memcpy(audit->next_hash, hash, sizeof(hash));
}

int bh_audit_restore(struct bh_audit *audit, int64_t sequence, const char *line,
                     struct bh_error *error)
{
        struct bh_chain chain = {.count = audit->sequence};
        _cleanup_json_ json_t *entry = NULL;
        if (sequence <= audit->sequence)
                return 0;
        memcpy(chain.previous, audit->hash, sizeof(chain.previous));
        if (bh_json_parse(line, strlen(line), &entry, error) < 0 ||
            bh_chain_check(&chain, entry, error) < 0)
                return bh_error_prefix(error, "staged audit entry");
        append_line(audit, line);
        memcpy(audit->next_hash, chain.previous, sizeof(audit->next_hash));
        bh_audit_accept(audit);
        return 0;
}

bool bh_audit_is_dirty(const struct bh_audit *audit)
{
        return audit->used > audit->accepted;
}

int bh_audit_each_new(const struct bh_audit *audit, bh_audit_visit visit, void *data,
                      struct bh_error *error)
{
        int64_t sequence = audit->sequence;
        for (size_t at = audit->accepted; at < audit->used;) {
                const char *start = audit->buffer + at;
                const char *end = memchr(start, '\n', audit->used - at);
                _cleanup_free_ char *line = bh_strndup(start, (size_t)(end - start));
                if (visit(++sequence, line, data, error) < 0)
                        return -1;
                at += (size_t)(end - start) + 1;
        }
        return 0;
}

void bh_audit_accept(struct bh_audit *audit)
{
        audit->accepted = audit->used;
        audit->sequence = audit->next_sequence;
        memcpy(audit->hash, audit->next_hash, sizeof(audit->hash));
}

void bh_audit_rollback(struct bh_audit *audit)
{
        audit->used = audit->accepted;
        audit->next_sequence = audit->sequence;
        memcpy(audit->next_hash, audit->hash, sizeof(audit->hash));
}

/* The old file is complete and synced before the next one exists. */
static int rotate(struct bh_audit *audit, struct bh_error *error)
{
        if (audit->fd >= 0 && bh_audit_sync(audit, error) < 0)
                return -1;
        if (open_file(audit, audit->written + 1, error) < 0)
                return -1;
        audit->size = 0;
        return 0;
}

/* Nobody else may have touched the file; a half line of our own is cut first. */
static int check_last_file(struct bh_audit *audit, struct bh_error *error)
{
        struct stat st;
        if (audit->torn && ftruncate(audit->fd, audit->size) < 0)
                return bh_error_errno(error, errno, "cut the unfinished audit entry");
        audit->torn = false;
        if (fstat(audit->fd, &st) < 0)
                return bh_error_errno(error, errno, "audit log");
        if (st.st_nlink == 0)
                return bh_error_set(error, BH_ERROR_SYSTEM, "the audit log's file was removed");
        if (st.st_size != audit->size)
                return bh_error_set(error, BH_ERROR_SYSTEM,
                                    "the audit log's file was changed: it has %lld bytes, not %lld",
                                    (long long)st.st_size, (long long)audit->size);
        return 0;
}

int bh_audit_write(struct bh_audit *audit, struct bh_error *error)
{
        if (audit->accepted == 0)
                return 0;
        if (audit->fd >= 0 && check_last_file(audit, error) < 0)
                return -1;
        if ((audit->fd < 0 || audit->size >= audit->file_max) && rotate(audit, error) < 0)
                return -1;
        if (bh_write_full(audit->fd, audit->buffer, audit->accepted) < 0) {
                int errnum = errno;
                audit->torn = true;
                return bh_error_errno(error, errnum, "write the audit log");
        }
        audit->size += (off_t)audit->accepted;
        audit->written = audit->sequence;
        memmove(audit->buffer, audit->buffer + audit->accepted, audit->used - audit->accepted);
        audit->used -= audit->accepted;
        audit->accepted = 0;
        return 0;
}

bool bh_audit_is_written(const struct bh_audit *audit)
{
        return audit->accepted == 0;
}

int64_t bh_audit_written(const struct bh_audit *audit)
{
        return audit->written;
}

int bh_audit_sync(struct bh_audit *audit, struct bh_error *error)
{
        if (audit->fd >= 0 && fdatasync(audit->fd) < 0)
                return bh_error_errno(error, errno, "sync the audit log");
        return 0;
}

static int read_from(int fd, int64_t after, size_t limit, json_t *entries, struct bh_error *error)
{
        off_t offset = 0;
        if (bh_audit_seek(fd, after, &offset, error) < 0)
                return -1;
        while (json_array_size(entries) < limit) {
                json_t *entry = NULL;
                int r = bh_audit_line(fd, offset, &entry, &offset, error);
                if (r <= 0)
                        return r;
                json_array_append_new(entries, entry);
        }
        return 0;
}

int bh_audit_read(struct bh_audit *audit, int64_t after, size_t limit, json_t **ret,
                  struct bh_error *error)
{
        _cleanup_json_ json_t *entries = json_array();
        _cleanup_free_ int64_t *files = NULL;
        size_t count = 0;
        if (bh_audit_files(audit->directory, &files, &count, error) < 0)
                return -1;
        for (size_t i = 0; i < count && json_array_size(entries) < limit; i++) {
                if (i + 1 < count && files[i + 1] <= after + 1)
                        continue;
                char name[BH_AUDIT_NAME_SIZE];
                bh_audit_file_name(files[i], name);
                _cleanup_close_ int fd =
                        bh_open_beneath(audit->directory, name, O_RDONLY, 0, error);
                if (fd < 0 || read_from(fd, after, limit, entries, error) < 0)
                        return -1;
        }
        *ret = bh_steal_ptr(&entries);
        return 0;
}
