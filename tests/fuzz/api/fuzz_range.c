/* Fuzzes api/range. The first eight bytes are the size of the body; whatever the header is, a part
 * lies inside the body, and the whole is the whole. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "api/range.h"
#include "base/alloc.h"
#include "base/cleanup.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        _cleanup_free_ char *header = NULL;
        uint64_t body, first = 1, length = 1;

        if (size < sizeof(body))
                return 0;
        memcpy(&body, data, sizeof(body));
        header = bh_strndup((const char *)data + sizeof(body), size - sizeof(body));
        switch (bh_range_parse(header, body, &first, &length)) {
        case BH_RANGE_PART:
                if (length == 0 || first >= body || length > body - first)
                        abort();
                break;
        case BH_RANGE_WHOLE:
                if (first != 0 || length != body)
                        abort();
                break;
        case BH_RANGE_UNSATISFIABLE:
                break;
        }
        return 0;
}
