/* See utf8_scan.h. The definition of a sequence is base/utf8's alone. */
#include "api/utf8_scan.h"

#include <stdint.h>
#include <string.h>

#include "base/utf8.h"

/* Bytes of the ASCII run that data begins with, eight at a time. */
static size_t ascii_run(const char *data, size_t size)
{
        size_t i = 0;

        while (size - i >= 8) {
                uint64_t eight;

                memcpy(&eight, data + i, 8);
                if (eight & 0x8080808080808080U)
                        break;
                i += 8;
        }
        while (i < size && (unsigned char)data[i] < 0x80)
                i++;
        return i;
}

/* How long a sequence with this first byte claims to be; 0 when none begins so. */
static size_t claimed_length(unsigned char first)
{
        if (first < 0x80)
                return 1;
        if (first >= 0xc2 && first <= 0xdf)
                return 2;
        if (first >= 0xe0 && first <= 0xef)
                return 3;
        return first >= 0xf0 && first <= 0xf4 ? 4 : 0;
}

/* Completes the sequence that the last piece cut. Returns bytes taken from data. */
static size_t complete_pending(struct bh_utf8_scan *scan, const char *data, size_t size,
                               bool *ret_valid)
{
        size_t want = claimed_length((unsigned char)scan->pending[0]);
        size_t taken = 0;

        while (scan->pending_size < want && taken < size)
                scan->pending[scan->pending_size++] = data[taken++];
        *ret_valid = scan->pending_size < want ||
                     bh_utf8_length(scan->pending, scan->pending_size) == want;
        if (scan->pending_size == want)
                scan->pending_size = 0;
        return taken;
}

bool bh_utf8_scan_feed(struct bh_utf8_scan *scan, const char *data, size_t size)
{
        size_t i = 0;
        bool valid = true;

        if (scan->pending_size > 0)
                i = complete_pending(scan, data, size, &valid);
        while (valid && i < size) {
                size_t length;

                i += ascii_run(data + i, size - i);
                if (i == size)
                        break;
                length = claimed_length((unsigned char)data[i]);
                if (length > size - i) {
                        scan->pending_size = size - i;
                        memcpy(scan->pending, data + i, scan->pending_size);
                        return true;
                }
                valid = length > 0 && bh_utf8_length(data + i, size - i) == length;
                i += length;
        }
        return valid;
}

bool bh_utf8_scan_finish(const struct bh_utf8_scan *scan)
{
        return scan->pending_size == 0;
}

bool bh_utf8_valid(const char *data, size_t size)
{
        struct bh_utf8_scan scan = {.pending_size = 0};

        return bh_utf8_scan_feed(&scan, data, size) && bh_utf8_scan_finish(&scan);
}
