/* Milliseconds as libevent takes them. */
#ifndef BULKHEAD_BROKER_DAEMON_TIMEVAL_H
#define BULKHEAD_BROKER_DAEMON_TIMEVAL_H

#include <stdint.h>
#include <sys/time.h>

static inline struct timeval bh_timeval_ms(int64_t ms)
{
        return (struct timeval){.tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000};
}

#endif
