/* See sse_id.h. */
#include "api/sse_id.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

void bh_sse_id_format(const struct bh_sse_id *id, char ret[BH_SSE_ID_SIZE])
{
        (void)snprintf(ret, BH_SSE_ID_SIZE, "s%" PRIu64 ".o%" PRIu64 ".e%" PRIu64 "%s",
                       id->sequence, id->output[0], id->output[1], id->ended ? ".end" : "");
}

/* Reads prefix and a number without leading zeros, at most 18 digits (below 2^63). */
static const char *read_part(const char *text, const char *prefix, uint64_t *ret)
{
        size_t digits;

        if (!text || strncmp(text, prefix, strlen(prefix)) != 0)
                return NULL;
        text += strlen(prefix);
        digits = strspn(text, "0123456789");
        if (digits == 0 || digits > 18 || (digits > 1 && text[0] == '0'))
                return NULL;
        *ret = 0;
        for (size_t i = 0; i < digits; i++)
                *ret = *ret * 10 + (uint64_t)(text[i] - '0');
        return text + digits;
}

int bh_sse_id_parse(const char *text, struct bh_sse_id *ret, struct bh_error *error)
{
        struct bh_sse_id id = {.ended = false};
        const char *rest = read_part(text, "s", &id.sequence);

        rest = read_part(rest, ".o", &id.output[0]);
        rest = read_part(rest, ".e", &id.output[1]);
        if (rest && strcmp(rest, ".end") == 0) {
                id.ended = true;
                rest += strlen(".end");
        }
        if (!rest || *rest != '\0')
                return bh_error_invalid(error, "", "Last-Event-ID is not an id of this stream");
        *ret = id;
        return 0;
}
