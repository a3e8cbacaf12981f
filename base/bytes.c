/* Random bytes, Base64 and constant-time comparison; see digest.h. Apart from digest.c so that
 * a static program which only needs an identifier does not carry libcrypto. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/alloc.h"
#include "base/digest.h"

static const char BASE64[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

bool bh_equal_constant_time(const char *a, const char *b)
{
        size_t a_length = strlen(a), b_length = strlen(b);
        volatile unsigned char difference = a_length != b_length;

        /* Every byte of a is looked at, whatever b holds; past b's end against its NUL. */
        for (size_t i = 0; i < a_length; i++) {
                char other = b[i < b_length ? i : b_length];

                difference = (unsigned char)(difference | (a[i] ^ other));
        }
        return difference == 0;
}

char *bh_base64_encode(const void *data, size_t size)
{
        const unsigned char *bytes = data;
        char *text = bh_alloc_array(size / 3 + 1, 4 + 1);
        char *out = text;

        for (size_t i = 0; i < size; i += 3) {
                size_t left = size - i;
                uint32_t group = (uint32_t)bytes[i] << 16;

                if (left > 1)
                        group |= (uint32_t)bytes[i + 1] << 8;
                if (left > 2)
                        group |= bytes[i + 2];
                *out++ = BASE64[group >> 18];
                *out++ = BASE64[(group >> 12) & 0x3f];
                *out++ = left > 1 ? BASE64[(group >> 6) & 0x3f] : '=';
                *out++ = left > 2 ? BASE64[group & 0x3f] : '=';
        }
        return text;
}

/* The six bits of a digit, or -1. */
static int digit_value(char digit)
{
        const char *found = digit ? strchr(BASE64, digit) : NULL;

        return found ? (int)(found - BASE64) : -1;
}

/* Decodes four digits, the last padding of which are '='. The unused bits must be zero, so
 * that a value has one form. */
static int decode_group(const char *digits, size_t padding, unsigned char out[3])
{
        uint32_t group = 0;

        for (size_t i = 0; i < 4 - padding; i++) {
                int value = digit_value(digits[i]);

                if (value < 0)
                        return -1;
                group |= (uint32_t)value << (18 - 6 * i);
        }
        if (group & ((UINT32_C(1) << (8 * padding)) - 1))
                return -1;
        for (size_t i = 0; i < 3 - padding; i++)
                out[i] = (unsigned char)(group >> (16 - 8 * i));
        return 0;
}

int bh_base64_decode(const char *text, size_t length, unsigned char **ret, size_t *ret_size)
{
        unsigned char *bytes;
        size_t size = 0;

        if (length % 4 != 0)
                return -1;
        bytes = bh_alloc(length / 4 * 3 + 1);
        for (size_t i = 0; i < length; i += 4) {
                bool last = i + 4 == length;
                size_t padding = !last ? 0 : text[i + 3] != '=' ? 0 : text[i + 2] == '=' ? 2 : 1;

                if (decode_group(text + i, padding, bytes + size) < 0) {
                        free(bytes);
                        return -1;
                }
                size += 3 - padding;
        }
        *ret = bytes;
        *ret_size = size;
        return 0;
}

void bh_random_bytes(void *buffer, size_t size)
{
        unsigned char *bytes = buffer;

        while (size > 0) {
                ssize_t got = getrandom(bytes, size, 0);

                if (got < 0) {
                        if (errno == EINTR)
                                continue;
                        abort(); /* no identifier or token may be made without it */
                }
                bytes += got;
                size -= (size_t)got;
        }
}
