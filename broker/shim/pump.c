/* Moving bytes in a thread of its own; see pump.h. */
#include "broker/shim/pump.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/fd.h"

#define STACK_BYTES ((size_t)64 << 10)

struct bh_pump {
        struct bh_pump_streams streams; /* the thread's */
        pthread_t thread;
        int news, orders; /* eventfds: thread → loop, loop → thread */
        atomic_bool started, tells, input_ended;

        pthread_mutex_t lock; /* of what follows; never held while a pipe is touched */
        struct bh_capture out, err;
        bool done;
};

enum { SLOT_OUT, SLOT_ERR, SLOT_IN, SLOT_ORDERS, SLOT_COUNT };

static bool is_done(const struct bh_pump_streams *streams)
{
        return bh_capture_at_end(&streams->out) && bh_capture_at_end(&streams->err) &&
               streams->in.pipe_fd < 0;
}

static void publish(struct bh_pump *pump)
{
        bool done = is_done(&pump->streams);

        pthread_mutex_lock(&pump->lock);
        pump->out = pump->streams.out;
        pump->err = pump->streams.err;
        pump->done = done;
        pthread_mutex_unlock(&pump->lock);
        if (done || atomic_load(&pump->tells))
                (void)eventfd_write(pump->news, 1);
}

/* Until the first paced stream may be read again; NULL: no stream is paced. */
static const struct timespec *pause_until(const struct bh_pump_streams *streams, int64_t now_us,
                                          struct timespec *room)
{
        const int64_t resumes[] = {streams->out.resume_us, streams->err.resume_us};
        int64_t left_us = INT64_MAX;

        for (size_t i = 0; i < sizeof(resumes) / sizeof(resumes[0]); i++) {
                if (resumes[i] > now_us && resumes[i] - now_us < left_us)
                        left_us = resumes[i] - now_us;
        }
        *room = (struct timespec){.tv_sec = left_us / 1000000, .tv_nsec = left_us % 1000000 * 1000};
        return left_us == INT64_MAX ? NULL : room;
}

static void turn(struct bh_pump *pump)
{
        struct bh_pump_streams *streams = &pump->streams;
        int64_t now_us = bh_monotonic_us();
        struct timespec room;
        eventfd_t orders;
        struct pollfd slots[SLOT_COUNT] = {
                [SLOT_OUT] = bh_capture_pollfd(&streams->out, now_us),
                [SLOT_ERR] = bh_capture_pollfd(&streams->err, now_us),
                [SLOT_IN] = {.fd = streams->in.pipe_fd, .events = POLLOUT},
                [SLOT_ORDERS] = {.fd = pump->orders, .events = POLLIN},
        };

        if (ppoll(slots, SLOT_COUNT, pause_until(streams, now_us, &room), NULL) < 0)
                return; /* EINTR */
        now_us = bh_monotonic_us();
        if (slots[SLOT_OUT].revents)
                bh_capture_pump(&streams->out, streams->buffer, streams->buffer_size, now_us);
        if (slots[SLOT_ERR].revents)
                bh_capture_pump(&streams->err, streams->buffer, streams->buffer_size, now_us);
        if (slots[SLOT_ORDERS].revents)
                (void)eventfd_read(pump->orders, &orders);
        if (atomic_load(&pump->input_ended))
                bh_stdin_feed_close(&streams->in);
        else if (slots[SLOT_IN].revents)
                bh_stdin_feed_pump(&streams->in, streams->buffer, streams->buffer_size);
        publish(pump);
}

static void *run(void *data)
{
        struct bh_pump *pump = data;
        struct pollfd start = {.fd = pump->orders, .events = POLLIN};

        while (!atomic_load(&pump->started))
                (void)poll(&start, 1, -1);
        while (!is_done(&pump->streams))
                turn(pump);
        return NULL;
}

/* With all signals blocked: they are the loop's. Returns 0 or an errno. */
static int start_thread(struct bh_pump *pump)
{
        pthread_attr_t attributes;
        sigset_t all, before;
        int result;

        sigfillset(&all);
        pthread_attr_init(&attributes);
        result = pthread_attr_setstacksize(&attributes, STACK_BYTES);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        if (result == 0)
                result = pthread_create(&pump->thread, &attributes, run, pump);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
        pthread_attr_destroy(&attributes);
        return result;
}

static void clear(struct bh_pump *pump)
{
        bh_close(pump->news);
        bh_close(pump->orders);
        pthread_mutex_destroy(&pump->lock);
        free(pump);
}

int bh_pump_new(struct bh_pump **ret, struct bh_error *error)
{
        struct bh_pump *pump = bh_alloc(sizeof(*pump));
        int result;

        pump->streams.out = pump->streams.err = BH_CAPTURE_NONE;
        pump->streams.in = BH_STDIN_FEED_NONE;
        pthread_mutex_init(&pump->lock, NULL);
        pump->news = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        pump->orders = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        result = pump->news < 0 || pump->orders < 0 ? errno : start_thread(pump);
        if (result != 0) {
                clear(pump);
                return bh_error_errno(error, result, "start the thread that moves the output");
        }
        *ret = pump;
        return 0;
}

static void let_go(struct bh_pump *pump)
{
        atomic_store(&pump->started, true);
        (void)eventfd_write(pump->orders, 1);
}

void bh_pump_start(struct bh_pump *pump, struct bh_pump_streams *streams)
{
        pump->streams = *streams;
        pump->out = streams->out;
        pump->err = streams->err;
        let_go(pump);
        streams->out.pipe_fd = streams->out.file_fd = -1;
        streams->err.pipe_fd = streams->err.file_fd = -1;
        streams->in.pipe_fd = -1;
}

int bh_pump_news_fd(const struct bh_pump *pump)
{
        return pump->news;
}

void bh_pump_tell_news(struct bh_pump *pump, bool on)
{
        atomic_store(&pump->tells, on);
}

bool bh_pump_look(struct bh_pump *pump, struct bh_capture *ret_out, struct bh_capture *ret_err)
{
        eventfd_t news;
        bool done;

        (void)eventfd_read(pump->news, &news);
        pthread_mutex_lock(&pump->lock);
        *ret_out = pump->out;
        *ret_err = pump->err;
        ret_out->pipe_fd = ret_out->file_fd = ret_err->pipe_fd = ret_err->file_fd = -1;
        done = pump->done;
        pthread_mutex_unlock(&pump->lock);
        return done;
}

void bh_pump_end_input(struct bh_pump *pump)
{
        atomic_store(&pump->input_ended, true);
        (void)eventfd_write(pump->orders, 1);
}

void bh_pump_free(struct bh_pump *pump)
{
        struct bh_capture out, err;

        if (!pump)
                return;
        if (!atomic_load(&pump->started))
                let_go(pump); /* without streams it ends at once */
        else if (!bh_pump_look(pump, &out, &err))
                return;
        pthread_join(pump->thread, NULL);
        bh_capture_close(&pump->streams.out);
        bh_capture_close(&pump->streams.err);
        clear(pump);
}
