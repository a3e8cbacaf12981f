/* Masking credentials in text; see log.h. Apart from the log, because errors on their way to a
 * client are masked by the same rule. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/log.h"

#define MASK "[redacted]"

/* What stands before a credential, and how far that reaches. */
struct shape {
        const char *start; /* matched without regard to case */
        bool at_word;      /* only where no letter or digit stands before it */
        bool to_line_end;  /* else: spaces if start ends with one, then token characters */
};

static const struct shape SHAPES[] = {
        {"bht_", false, false},          {"bhs_", false, false},   {"bearer ", true, false},
        {"authorization:", false, true}, {"cookie:", false, true},
};

static bool is_alphanumeric(char c)
{
        return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* RFC 6750's b64token characters, and '%' for encoded forms. */
static bool is_token(char c)
{
        return is_alphanumeric(c) || (c != '\0' && strchr("-._~+/=%", c));
}

static const struct shape *match(const char *text, size_t at)
{
        for (size_t i = 0; i < sizeof(SHAPES) / sizeof(SHAPES[0]); i++) {
                const struct shape *shape = &SHAPES[i];

                if (strncasecmp(text + at, shape->start, strlen(shape->start)) != 0)
                        continue;
                if (shape->at_word && at > 0 && is_alphanumeric(text[at - 1]))
                        continue;
                return shape;
        }
        return NULL;
}

/* Length of the credential at text. */
static size_t credential_length(const struct shape *shape, const char *text)
{
        bool spaced = shape->start[strlen(shape->start) - 1] == ' ';
        size_t spaces = spaced ? strspn(text, " ") : 0;
        size_t length = spaces;

        if (shape->to_line_end)
                return strcspn(text, "\r\n");
        while (is_token(text[length]))
                length++;
        return length > spaces ? length : 0;
}

char *bh_redact(const char *text)
{
        /* At worst the five bytes "bht_x" become the fourteen of "bht_[redacted]". */
        char *result = bh_alloc_array(strlen(text) + 1, 3);
        char *out = result;

        for (size_t at = 0; text[at];) {
                const struct shape *shape = match(text, at);
                size_t start, length;

                if (!shape) {
                        *out++ = text[at++];
                        continue;
                }
                start = strlen(shape->start);
                length = credential_length(shape, text + at + start);
                memcpy(out, text + at, start);
                out += start;
                at += start + length;
                if (length > 0) {
                        memcpy(out, MASK, sizeof(MASK) - 1);
                        out += sizeof(MASK) - 1;
                }
        }
        *out = '\0';
        return result;
}
