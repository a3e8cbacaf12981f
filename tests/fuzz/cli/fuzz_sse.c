/* api/cli/sse: any bytes, cut anywhere. The first byte is the size of the pieces; whatever they
 * are, the events must be those of the stream fed whole. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "api/cli/sse.h"
#include "base/alloc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct tally {
        uint64_t hash; /* FNV-1a over all that the events said */
        size_t events;
};

static void mix(struct tally *tally, const char *bytes, size_t size)
{
        for (size_t index = 0; index <= size; index++) /* with the NUL, which divides */
                tally->hash = (tally->hash ^ (uint8_t)bytes[index]) * UINT64_C(0x100000001b3);
}

static int count(void *context, const struct bh_sse_event *event, struct bh_error *error)
{
        struct tally *tally = context;

        (void)error;
        if (event->data[event->data_size] != '\0')
                abort();
        mix(tally, event->name, strlen(event->name));
        mix(tally, event->data, event->data_size);
        mix(tally, event->id, strlen(event->id));
        tally->events++;
        return 0;
}

static struct tally feed(const uint8_t *data, size_t size, size_t step)
{
        struct tally tally = {0};
        struct bh_sse *parser = bh_sse_new(count, &tally);

        for (size_t at = 0; at < size; at += step) {
                size_t piece = size - at < step ? size - at : step;
                /* A copy of its own size, so that a read past it is seen. */
                char *bytes = bh_alloc(piece);

                memcpy(bytes, data + at, piece);
                if (bh_sse_feed(parser, bytes, piece, NULL) < 0)
                        abort(); /* libFuzzer's inputs stay below the caps */
                free(bytes);
        }
        bh_sse_free(parser);
        return tally;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        if (size < 2)
                return 0;

        struct tally pieces = feed(data + 1, size - 1, (size_t)data[0] + 1);
        struct tally whole = feed(data + 1, size - 1, size - 1);

        if (pieces.hash != whole.hash || pieces.events != whole.events)
                abort();
        return 0;
}
