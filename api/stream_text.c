/* See stream_text.h. */
#include "api/stream_text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "api/utf8_scan.h"
#include "base/alloc.h"
#include "base/digest.h"
#include "base/fd.h"

#define PIECE_SIZE ((size_t)64 << 10) /* bytes of a file in memory at a time */
#define ESCAPE_MAX 6                  /* "\u0000" */

struct piece {
        struct piece *next;
        char *text; /* owned; NULL: a file */
        size_t length, offset;
        int fd;
        uint64_t file_size, file_offset; /* offset: bytes read into the buffer so far */
        bool base64;
};

struct bh_stream_text {
        struct piece *first, **last;
        char *buffer; /* PIECE_SIZE, of the file that is being encoded */
        size_t buffer_have, buffer_at;
};

struct bh_stream_text *bh_stream_text_new(void)
{
        struct bh_stream_text *text = bh_alloc(sizeof(*text));

        text->last = &text->first;
        return text;
}

static void drop_first(struct bh_stream_text *text)
{
        struct piece *piece = text->first;

        text->first = piece->next;
        if (!text->first)
                text->last = &text->first;
        free(piece->text);
        bh_close(piece->fd);
        free(piece);
        text->buffer_have = text->buffer_at = 0;
}

void bh_stream_text_free(struct bh_stream_text *text)
{
        if (!text)
                return;
        while (text->first)
                drop_first(text);
        free(text->buffer);
        free(text);
}

static struct piece *add_piece(struct bh_stream_text *text)
{
        struct piece *piece = bh_alloc(sizeof(*piece));

        piece->fd = -1;
        *text->last = piece;
        text->last = &piece->next;
        return piece;
}

void bh_stream_text_add(struct bh_stream_text *text, const char *piece)
{
        struct piece *added = add_piece(text);

        added->text = bh_strdup(piece);
        added->length = strlen(piece);
}

int bh_stream_text_add_file(struct bh_stream_text *text, int fd, uint64_t size, bool base64,
                            struct bh_error *error)
{
        int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
        struct piece *added;

        if (copy < 0)
                return bh_error_errno(error, errno, "keep an output file open");
        added = add_piece(text);
        added->fd = copy;
        added->file_size = size;
        added->base64 = base64;
        if (!text->buffer)
                text->buffer = bh_alloc(PIECE_SIZE);
        return 0;
}

/* ---- Encoding ---- */

/* The escape of one byte, or its length 0 when it stands for itself. */
static size_t escape_byte(unsigned char byte, char ret[ESCAPE_MAX])
{
        static const char hex[] = "0123456789abcdef";
        static const char from[] = "\b\f\n\r\t\"\\", to[] = "bfnrt\"\\";
        const char *known = byte ? strchr(from, byte) : NULL;

        ret[0] = '\\';
        if (known) {
                ret[1] = to[known - from];
                return 2;
        }
        if (byte >= 0x20 && byte != 0x7f)
                return 0;
        ret[1] = 'u';
        ret[2] = ret[3] = '0';
        ret[4] = hex[byte >> 4];
        ret[5] = hex[byte & 15];
        return ESCAPE_MAX;
}

size_t bh_json_escape(const char *data, size_t size, char *buffer, size_t buffer_size,
                      size_t *ret_used)
{
        size_t used = 0, written = 0;

        while (used < size && buffer_size - written >= ESCAPE_MAX) {
                size_t length = escape_byte((unsigned char)data[used], buffer + written);

                if (length == 0)
                        buffer[written++] = data[used];
                written += length;
                used++;
        }
        *ret_used = used;
        return written;
}

/* Base64 of as much of data as fits, padded only at the file's end; a rest below three bytes
 * waits for more. */
static size_t encode_base64(const char *data, size_t size, bool last, char *buffer,
                            size_t buffer_size, size_t *ret_used)
{
        size_t take = buffer_size / 4 * 3 < size ? buffer_size / 4 * 3 : size;
        char *encoded;
        size_t length;

        if (take < size || !last)
                take -= take % 3;
        encoded = bh_base64_encode(data, take);
        length = strlen(encoded);
        memcpy(buffer, encoded, length);
        free(encoded);
        *ret_used = take;
        return length;
}

/* ---- Reading ---- */

/* Refills the buffer behind what is left in it. */
static int fill(struct bh_stream_text *text, struct piece *piece, struct bh_error *error)
{
        size_t left = text->buffer_have - text->buffer_at;
        uint64_t rest = piece->file_size - piece->file_offset;
        size_t want = rest < PIECE_SIZE - left ? (size_t)rest : PIECE_SIZE - left;
        ssize_t got;

        if (want == 0 || left >= 3)
                return 0;
        memmove(text->buffer, text->buffer + text->buffer_at, left);
        got = bh_pread_full(piece->fd, text->buffer + left, want, (off_t)piece->file_offset);
        if (got < 0)
                return bh_error_errno(error, errno, "read an output file");
        if ((size_t)got < want)
                return bh_error_set(error, BH_ERROR_INTERNAL, "an output file became shorter");
        text->buffer_at = 0;
        text->buffer_have = left + want;
        piece->file_offset += want;
        return 0;
}

/* One step of encoding into buffer. Returns bytes written, 0 at the file's end. */
static ssize_t read_file_piece(struct bh_stream_text *text, struct piece *piece, char *buffer,
                               size_t size, struct bh_error *error)
{
        size_t have, used, written;
        bool last;

        if (fill(text, piece, error) < 0)
                return -1;
        have = text->buffer_have - text->buffer_at;
        last = piece->file_offset == piece->file_size;
        if (have == 0)
                return 0;
        if (piece->base64)
                written = encode_base64(text->buffer + text->buffer_at, have, last, buffer, size,
                                        &used);
        else
                written = bh_json_escape(text->buffer + text->buffer_at, have, buffer, size, &used);
        text->buffer_at += used;
        return (ssize_t)written;
}

static size_t read_text_piece(struct piece *piece, char *buffer, size_t size)
{
        size_t left = piece->length - piece->offset;
        size_t take = left < size ? left : size;

        memcpy(buffer, piece->text + piece->offset, take);
        piece->offset += take;
        return take;
}

ssize_t bh_stream_text_read(struct bh_stream_text *text, char *buffer, size_t size,
                            struct bh_error *error)
{
        size_t written = 0;

        while (text->first && size - written >= ESCAPE_MAX) {
                struct piece *piece = text->first;
                ssize_t step;

                if (piece->text)
                        step = (ssize_t)read_text_piece(piece, buffer + written, size - written);
                else
                        step = read_file_piece(text, piece, buffer + written, size - written,
                                               error);
                if (step < 0)
                        return -1;
                if (step == 0)
                        drop_first(text);
                written += (size_t)step;
        }
        return (ssize_t)written;
}

int bh_file_is_utf8(int fd, uint64_t size, struct bh_error *error)
{
        _cleanup_free_ char *buffer = bh_alloc(PIECE_SIZE);
        struct bh_utf8_scan scan = {.pending_size = 0};

        for (uint64_t offset = 0; offset < size;) {
                size_t want = size - offset < PIECE_SIZE ? (size_t)(size - offset) : PIECE_SIZE;
                ssize_t got = bh_pread_full(fd, buffer, want, (off_t)offset);

                if (got < 0)
                        return bh_error_errno(error, errno, "read an output file");
                if ((size_t)got < want)
                        return bh_error_set(error, BH_ERROR_INTERNAL,
                                            "an output file became shorter");
                if (!bh_utf8_scan_feed(&scan, buffer, want))
                        return 0;
                offset += want;
        }
        return bh_utf8_scan_finish(&scan);
}
