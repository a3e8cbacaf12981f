/* See archive_check.h. */
#include "broker/files/archive_check.h"

#include "base/alloc.h"

static int malformed(struct archive *archive, struct bh_error *error)
{
        const char *why = archive_error_string(archive);

        return bh_error_refused(error, "archive_not_allowed", "",
                                "this is no sound tar archive: %.200s",
                                why ? why : "it cannot be read");
}

struct archive *bh_archive_reader(void)
{
        struct archive *archive = archive_read_new();

        if (!archive)
                bh_alloc_failed();
        if (archive_read_support_filter_none(archive) != ARCHIVE_OK ||
            archive_read_support_format_tar(archive) != ARCHIVE_OK ||
            archive_read_support_format_empty(archive) != ARCHIVE_OK)
                bh_alloc_failed();
        return archive;
}

struct bh_member bh_archive_member(struct archive_entry *entry)
{
        const char *name = archive_entry_pathname(entry);
        const char *hard = archive_entry_hardlink(entry);

        return (struct bh_member){
                .name = name ? name : "",
                .target = hard ? hard : archive_entry_symlink(entry),
                .mode = archive_entry_mode(entry),
                .hard_link = hard != NULL,
                .size = archive_entry_size(entry),
        };
}

int bh_archive_next(struct archive *archive, struct archive_entry **ret, struct bh_error *error)
{
        switch (archive_read_next_header(archive, ret)) {
        case ARCHIVE_OK:
                return 1;
        case ARCHIVE_EOF:
                return 0;
        default: /* a warning too: what was not understood is not taken */
                return malformed(archive, error);
        }
}

int bh_archive_data(struct archive *archive, bh_archive_sink sink, void *context,
                    struct bh_error *error)
{
        for (;;) {
                const void *data;
                size_t size;
                la_int64_t offset;
                int result = archive_read_data_block(archive, &data, &size, &offset);

                if (result == ARCHIVE_EOF)
                        return 0;
                if (result != ARCHIVE_OK)
                        return malformed(archive, error);
                if (size > 0 && sink(context, data, size, offset, error) < 0)
                        return -1;
        }
}

/* A piece that lies beyond the size that was judged would be more than was judged. */
static int check_piece(void *context, const void *data, size_t size, int64_t offset,
                       struct bh_error *error)
{
        const int64_t *whole = context;

        (void)data;
        if (offset < 0 || offset > *whole || (int64_t)size > *whole - offset)
                return bh_error_refused(error, "archive_not_allowed", "",
                                        "a member has more bytes than it says");
        return 0;
}

int bh_archive_check(struct archive *archive, struct bh_members *members, struct bh_error *error)
{
        struct archive_entry *entry;
        int more;

        while ((more = bh_archive_next(archive, &entry, error)) > 0) {
                struct bh_member member = bh_archive_member(entry);
                int64_t size = member.hard_link ? 0 : member.size;

                if (bh_members_add(members, &member, error) < 0)
                        return -1;
                /* A hard link may carry its file's bytes again (pax); they are not used. */
                if (!member.hard_link && bh_archive_data(archive, check_piece, &size, error) < 0)
                        return -1;
        }
        return more < 0 ? -1 : bh_members_finish(members, error);
}
