/* See range.h. */
#include "api/range.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

/* Reads digits; a number that is too large becomes UINT64_MAX, which is beyond every file.
 * Returns what follows, or NULL without a digit. */
static const char *read_number(const char *text, uint64_t *ret)
{
        uint64_t number = 0;
        size_t digits = strspn(text, "0123456789");

        for (size_t i = 0; i < digits; i++) {
                uint64_t digit = (uint64_t)(text[i] - '0');

                if (number > (UINT64_MAX - digit) / 10)
                        number = UINT64_MAX;
                else
                        number = number * 10 + digit;
        }
        *ret = number;
        return digits > 0 ? text + digits : NULL;
}

/* "-500": the last 500 bytes. */
static enum bh_range_verdict suffix_range(uint64_t suffix, uint64_t size, uint64_t *ret_first,
                                          uint64_t *ret_length)
{
        if (suffix == 0 || size == 0)
                return BH_RANGE_UNSATISFIABLE;
        *ret_length = suffix < size ? suffix : size;
        *ret_first = size - *ret_length;
        return BH_RANGE_PART;
}

enum bh_range_verdict bh_range_parse(const char *header, uint64_t size, uint64_t *ret_first,
                                     uint64_t *ret_length)
{
        uint64_t first, last = UINT64_MAX;
        const char *at;

        *ret_first = 0;
        *ret_length = size;
        if (!header || strncasecmp(header, "bytes=", 6) != 0)
                return BH_RANGE_WHOLE;
        at = header + 6;
        if (*at == '-') {
                at = read_number(at + 1, &last);
                if (!at || *at != '\0')
                        return BH_RANGE_WHOLE;
                return suffix_range(last, size, ret_first, ret_length);
        }
        at = read_number(at, &first);
        if (!at || *at != '-')
                return BH_RANGE_WHOLE;
        if (at[1] != '\0') {
                at = read_number(at + 1, &last);
                if (!at || *at != '\0' || last < first)
                        return BH_RANGE_WHOLE;
        }
        if (first >= size)
                return BH_RANGE_UNSATISFIABLE;
        *ret_first = first;
        *ret_length = (last < size ? last + 1 : size) - first;
        return BH_RANGE_PART;
}
