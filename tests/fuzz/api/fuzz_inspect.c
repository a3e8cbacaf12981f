/* Fuzzes api/inspect. The first byte says how large the pieces are; the verdict must be that of
 * the stream looked at whole, and a fault is final. */
#include <stdint.h>
#include <stdlib.h>

#include "api/inspect.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
        if (!holds)
                abort();
}

static struct bh_inspector look(const char *text, size_t size, size_t step)
{
        struct bh_inspector in = {.phase = BH_PHASE_IDLE};

        for (size_t at = 0; at < size; at += step) {
                size_t piece = size - at < step ? size - at : step;
                size_t good = bh_inspect(&in, text + at, piece);

                require(in.violation.status ? good < piece : good == piece);
                require(in.heads <= in.started);
                if (in.violation.status) {
                        require(in.violation.code && in.violation.detail);
                        require(bh_inspect(&in, text, size) == 0);
                        break;
                }
        }
        return in;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        struct bh_inspector whole, pieces;

        if (size < 2)
                return 0;
        whole = look((const char *)data + 1, size - 1, size);
        pieces = look((const char *)data + 1, size - 1, (size_t)data[0] + 1);
        require(whole.violation.status == pieces.violation.status);
        require(whole.violation.detail == pieces.violation.detail);
        require(whole.started == pieces.started && whole.heads == pieces.heads);
        require(whole.phase == pieces.phase && whole.body_seen == pieces.body_seen);
        return 0;
}
