/* ULIDs; see ulid.h. */
#include "base/ulid.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/digest.h"

#define RANDOM_BYTES 10
#define PREFIX_MAX   (BH_ID_SIZE - BH_ULID_LENGTH - 1)

static const char CROCKFORD[] = "0123456789abcdefghjkmnpqrstvwxyz";

/* The last identifier made: the next in the same millisecond is one more. */
static struct {
        pthread_mutex_t lock;
        int64_t ms;
        unsigned char random[RANDOM_BYTES];
} last = {.lock = PTHREAD_MUTEX_INITIALIZER, .ms = -1};

/* Adds one; false when it wrapped around. */
static bool increment(unsigned char number[RANDOM_BYTES])
{
        for (size_t i = RANDOM_BYTES; i-- > 0;) {
                if (++number[i] != 0)
                        return true;
        }
        return false;
}

static void next(int64_t *ret_ms, unsigned char ret_random[RANDOM_BYTES])
{
        int64_t now = bh_realtime_ms();

        pthread_mutex_lock(&last.lock);
        /* A clock that was set back must not make identifiers sort backwards. */
        if (now > last.ms) {
                last.ms = now;
                bh_random_bytes(last.random, RANDOM_BYTES);
        } else if (!increment(last.random)) {
                last.ms++;
                bh_random_bytes(last.random, RANDOM_BYTES);
        }
        *ret_ms = last.ms;
        memcpy(ret_random, last.random, RANDOM_BYTES);
        pthread_mutex_unlock(&last.lock);
}

void bh_id_make(const char *prefix, char ret[BH_ID_SIZE])
{
        unsigned char bytes[6 + RANDOM_BYTES];
        char text[BH_ULID_LENGTH + 1];
        int64_t ms;

        next(&ms, bytes + 6);
        for (size_t i = 0; i < 6; i++)
                bytes[i] = (unsigned char)((uint64_t)ms >> (40 - 8 * i));
        /* 26 digits of 5 bits hold 130: the number is read with two zero bits before it. */
        for (size_t i = 0; i < BH_ULID_LENGTH; i++) {
                unsigned int digit = 0;

                for (size_t bit = 5 * i; bit < 5 * i + 5; bit++) {
                        unsigned int set = 0;

                        if (bit >= 2)
                                set = ((unsigned int)bytes[(bit - 2) / 8] >> (7 - (bit - 2) % 8)) &
                                      1U;
                        digit = digit << 1 | set;
                }
                text[i] = CROCKFORD[digit];
        }
        text[BH_ULID_LENGTH] = '\0';
        snprintf(ret, BH_ID_SIZE, "%.*s%s", PREFIX_MAX, prefix, text);
}

bool bh_id_valid(const char *prefix, const char *text)
{
        size_t prefix_length = strlen(prefix);
        const char *ulid;

        if (strncmp(text, prefix, prefix_length) != 0)
                return false;
        ulid = text + prefix_length;
        /* The first digit holds only three bits (ulid spec, "Overflow Errors"). */
        if (strlen(ulid) != BH_ULID_LENGTH || ulid[0] > '7')
                return false;
        return strspn(ulid, CROCKFORD) == BH_ULID_LENGTH;
}
