/* Fuzzes api/sse_id. What is accepted is exactly what would be formatted. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "api/sse_id.h"
#include "base/alloc.h"
#include "base/cleanup.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        _cleanup_free_ char *text = bh_strndup((const char *)data, size);
        char again[BH_SSE_ID_SIZE];
        struct bh_sse_id id;
        struct bh_error error;

        if (bh_sse_id_parse(text, &id, &error) < 0)
                return 0;
        bh_sse_id_format(&id, again);
        if (strcmp(text, again) != 0)
                abort();
        return 0;
}
