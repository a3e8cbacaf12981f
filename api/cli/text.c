/* See text.h. */
#include "api/cli/text.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <wchar.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/utf8.h"

#define ESCAPE_MAX 12 /* "\u{10ffff}" + NUL, the longest that one character becomes */

static const char ELLIPSIS[] = "\u2026";

/* The code point of a well-formed sequence of length bytes. */
static uint32_t code_point(const char *text, size_t length)
{
        const unsigned char *bytes = (const unsigned char *)text;
        uint32_t point = length == 1 ? bytes[0] : bytes[0] & (0x7fU >> length);

        for (size_t index = 1; index < length; index++)
                point = point << 6 | (bytes[index] & 0x3fU);
        return point;
}

/* Characters that a terminal, or a reader's eye, takes as something else than a letter:
 * Unicode's bidirectional controls (UAX #9) and the invisible ones. */
static bool deceives(uint32_t point)
{
        return point < 0x20 || (point >= 0x7f && point < 0xa0) || point == 0xad || point == 0x61c ||
               point == 0x180e || (point >= 0x200b && point <= 0x200f) ||
               (point >= 0x2028 && point <= 0x202e) || (point >= 0x2060 && point <= 0x206f) ||
               point == 0xfeff || (point >= 0xfff0 && point <= 0xfffb) ||
               (point >= 0xe0000 && point <= 0xe007f);
}

static void escape_one(char ret[ESCAPE_MAX], uint32_t point)
{
        switch (point) {
        case '\n':
                memcpy(ret, "\\n", 3);
                break;
        case '\r':
                memcpy(ret, "\\r", 3);
                break;
        case '\t':
                memcpy(ret, "\\t", 3);
                break;
        default:
                snprintf(ret, ESCAPE_MAX, point < 0x80 ? "\\x%02" PRIx32 : "\\u{%" PRIx32 "}",
                         point);
        }
}

char *bh_text_escape(const char *text, size_t size)
{
        char *escaped = bh_alloc_array(size + 1, ESCAPE_MAX);
        size_t used = 0;

        for (size_t at = 0; at < size;) {
                size_t length = bh_utf8_length(text + at, size - at);
                char shown[ESCAPE_MAX];

                if (length == 0) {
                        snprintf(shown, sizeof(shown), "\\x%02x", (unsigned char)text[at]);
                        at++;
                } else if (deceives(code_point(text + at, length))) {
                        escape_one(shown, code_point(text + at, length));
                        at += length;
                } else {
                        memcpy(shown, text + at, length);
                        shown[length] = '\0';
                        at += length;
                }
                size_t shown_size = strlen(shown);
                memcpy(escaped + used, shown, shown_size + 1);
                used += shown_size;
        }
        return bh_realloc_array(escaped, used + 1, 1);
}

/* Columns of one character; what wcwidth does not know is taken as one. */
static size_t width(uint32_t point)
{
        int columns = wcwidth((wchar_t)point);

        return columns < 0 ? 1 : (size_t)columns;
}

size_t bh_text_columns(const char *text)
{
        size_t size = strlen(text), columns = 0;

        for (size_t at = 0; at < size;) {
                size_t length = bh_utf8_length(text + at, size - at);

                columns += length == 0 ? 1 : width(code_point(text + at, length));
                at += length == 0 ? 1 : length;
        }
        return columns;
}

/* Bytes of the longest head of text that takes at most columns. */
static size_t head(const char *text, size_t columns)
{
        size_t size = strlen(text), used = 0, at = 0;

        while (at < size) {
                size_t length = bh_utf8_length(text + at, size - at);
                size_t wide = length == 0 ? 1 : width(code_point(text + at, length));

                if (used + wide > columns)
                        break;
                used += wide;
                at += length == 0 ? 1 : length;
        }
        return at;
}

char *bh_text_cut(const char *text, size_t columns)
{
        if (bh_text_columns(text) <= columns)
                return bh_strdup(text);
        if (columns == 0)
                return bh_strdup("");
        return bh_format("%.*s%s", (int)head(text, columns - 1), text, ELLIPSIS);
}

size_t bh_text_fit(const char *text, size_t columns)
{
        size_t fits = head(text, columns);

        if (text[fits] == '\0')
                return fits;
        for (size_t at = fits; at > 0; at--)
                if (text[at] == ' ' || text[at - 1] == ' ')
                        return at;
        /* A column too narrow for one wide character still has to make progress. */
        return fits > 0 ? fits : bh_utf8_length(text, strlen(text));
}

char *bh_text_size(int64_t bytes)
{
        static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
        size_t unit = 0;
        double value = (double)bytes;

        while (value >= 1024 && unit + 1 < sizeof(units) / sizeof(units[0])) {
                value /= 1024;
                unit++;
        }
        /* One decimal only where it says something: 1.5 GiB, but 64 MiB. */
        if (value < 10 && (int64_t)(value * 10 + 0.5) % 10 != 0)
                return bh_format("%.1f %s", value, units[unit]);
        return bh_format("%.0f %s", value, units[unit]);
}

char *bh_text_duration(int64_t milliseconds)
{
        if (milliseconds < 1000)
                return bh_format("%" PRId64 " ms", milliseconds);
        if (milliseconds < 60000 && milliseconds % 1000 != 0)
                return bh_format("%.1f s", (double)milliseconds / 1000);
        if (milliseconds < 60000)
                return bh_format("%" PRId64 " s", milliseconds / 1000);
        if (milliseconds / 1000 % 60 == 0)
                return bh_format("%" PRId64 " min", milliseconds / 60000);
        return bh_format("%" PRId64 " min %" PRId64 " s", milliseconds / 60000,
                         milliseconds / 1000 % 60);
}
