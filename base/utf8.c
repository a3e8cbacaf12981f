/* UTF-8; see utf8.h. */
#include "base/utf8.h"

#include <string.h>

/* Bytes that a sequence starting with lead has, and the range of its second byte, where
 * overlong forms, surrogates and too large values show (RFC 3629 section 4). */
static size_t expected_length(unsigned char lead, unsigned char *ret_low, unsigned char *ret_high)
{
        *ret_low = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
        *ret_high = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
        if (lead < 0x80)
                return 1;
        if (lead >= 0xc2 && lead <= 0xdf)
                return 2;
        if (lead >= 0xe0 && lead <= 0xef)
                return 3;
        if (lead >= 0xf0 && lead <= 0xf4)
                return 4;
        return 0;
}

size_t bh_utf8_length(const char *text, size_t size)
{
        const unsigned char *bytes = (const unsigned char *)text;
        unsigned char low, high;
        size_t length;

        if (size == 0)
                return 0;
        length = expected_length(bytes[0], &low, &high);
        if (length == 0 || length > size)
                return 0;
        for (size_t i = 1; i < length; i++) {
                if (bytes[i] < low || bytes[i] > high)
                        return 0;
                low = 0x80;
                high = 0xbf;
        }
        return length;
}

size_t bh_utf8_encode(uint32_t code_point, char ret[4])
{
        if (code_point < 0x80) {
                ret[0] = (char)code_point;
                return 1;
        }
        if (code_point < 0x800) {
                ret[0] = (char)(0xc0 | (code_point >> 6));
                ret[1] = (char)(0x80 | (code_point & 0x3f));
                return 2;
        }
        if (code_point < 0x10000) {
                ret[0] = (char)(0xe0 | (code_point >> 12));
                ret[1] = (char)(0x80 | ((code_point >> 6) & 0x3f));
                ret[2] = (char)(0x80 | (code_point & 0x3f));
                return 3;
        }
        ret[0] = (char)(0xf0 | (code_point >> 18));
        ret[1] = (char)(0x80 | ((code_point >> 12) & 0x3f));
        ret[2] = (char)(0x80 | ((code_point >> 6) & 0x3f));
        ret[3] = (char)(0x80 | (code_point & 0x3f));
        return 4;
}

void bh_utf8_repair(char *text)
{
        size_t left = strlen(text);

        while (left > 0) {
                size_t length = bh_utf8_length(text, left);

                if (length == 0) {
                        *text = '?';
                        length = 1;
                }
                text += length;
                left -= length;
        }
}
