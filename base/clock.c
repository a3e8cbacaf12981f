/* Time; see clock.h. */
#include "base/clock.h"

#include <stdio.h>
#include <time.h>

/* First and last millisecond that RFC 3339's four-digit year can write. */
#define TIME_MIN_MS INT64_C(-62167219200000)
#define TIME_MAX_MS INT64_C(253402300799999)

int64_t bh_monotonic_us(void)
{
        struct timespec now;

        clock_gettime(CLOCK_MONOTONIC, &now);
        return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

int64_t bh_realtime_ms(void)
{
        struct timespec now;

        clock_gettime(CLOCK_REALTIME, &now);
        return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void bh_time_format(int64_t realtime_ms, char ret[BH_TIME_TEXT_SIZE])
{
        int64_t ms = realtime_ms < TIME_MIN_MS   ? TIME_MIN_MS
                     : realtime_ms > TIME_MAX_MS ? TIME_MAX_MS
                                                 : realtime_ms;
        int64_t fraction = (ms % 1000 + 1000) % 1000;
        time_t seconds = (time_t)((ms - fraction) / 1000);
        struct tm utc;
        size_t length;

        gmtime_r(&seconds, &utc);
        /* %Y does not pad: years before 1000 need the width. */
        length = strftime(ret, BH_TIME_TEXT_SIZE, "%4Y-%m-%dT%H:%M:%S", &utc);
        for (size_t i = 0; i < length && ret[i] == ' '; i++)
                ret[i] = '0';
        snprintf(ret + length, BH_TIME_TEXT_SIZE - length, ".%03dZ", (int)fraction);
}
