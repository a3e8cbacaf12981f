/* See broker_double.h. */
#include "broker_double.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"
#include "broker/shim_protocol.h"

#define PATIENCE_US INT64_C(20000000)

void broker_double_open(struct broker_double *broker, broker_double_shim shim, void *data)
{
        int pair[2];

        strcpy(broker->path, "/tmp/shim_execution.XXXXXX");
        assert_non_null(mkdtemp(broker->path));
        broker->directory = open(broker->path, O_DIRECTORY | O_CLOEXEC);
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
        broker->shim = fork();
        assert_true(broker->shim >= 0);
        if (broker->shim == 0) {
                bh_close(pair[0]);
                bh_close(broker->directory);
                _exit(shim(data, pair[1]));
        }
        bh_close(pair[1]);
        broker->channel = bh_channel_new_take(pair[0]);
}

void broker_double_close(struct broker_double *broker)
{
        static const char *const names[] = {"stdout", "stderr", BH_SHIM_RESULT_FILE,
                                            BH_SHIM_CONTROL_SOCKET};

        broker_double_die(broker);
        if (broker->shim > 0) {
                (void)kill(broker->shim, SIGKILL);
                (void)waitpid(broker->shim, NULL, 0);
        }
        for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
                (void)unlinkat(broker->directory, names[i], 0);
        bh_close(broker->directory);
        assert_int_equal(rmdir(broker->path), 0); /* nothing else is ever in it */
}

void broker_double_start_take(struct broker_double *broker, json_t *order, const void *payload,
                              size_t payload_size)
{
        broker_double_order_take(broker, order, payload, payload_size);
        broker_double_go(broker);
}

void broker_double_order_take(struct broker_double *broker, json_t *order, const void *payload,
                              size_t payload_size)
{
        int fd = -1;

        if (payload) {
                json_object_set_new(order, "payload", json_true());
                fd = bh_memfd_sealed("payload", payload, payload_size, NULL);
                assert_true(fd >= 0);
        }
        assert_int_equal(bh_channel_send(broker->channel, order, &fd, payload ? 1 : 0, NULL), 0);
        bh_close(fd);
        json_decref(order);
}

void broker_double_go(struct broker_double *broker)
{
        _cleanup_json_ json_t *message = json_pack("{s:s}", "type", "go");

        const int flags = O_WRONLY | O_CREAT | O_CLOEXEC;
        int fds[] = {broker->directory, openat(broker->directory, "stdout", flags, 0600),
                     openat(broker->directory, "stderr", flags, 0600)};

        assert_int_equal(bh_channel_send(broker->channel, message, fds, 3, NULL), 0);
        bh_close(fds[1]);
        bh_close(fds[2]);
}

void broker_double_say(struct broker_double *broker, const char *text)
{
        _cleanup_json_ json_t *message = json_loads(text, 0, NULL);

        assert_non_null(message);
        assert_int_equal(bh_channel_send(broker->channel, message, NULL, 0, NULL), 0);
}

static void await_input(int fd, int64_t until_us)
{
        struct pollfd slot = {.fd = fd, .events = POLLIN};
        int64_t left_us = until_us - bh_monotonic_us();

        if (left_us <= 0)
                fail_msg("nothing came from the shim");
        (void)poll(&slot, 1, (int)(left_us / 1000 + 1));
}

json_t *broker_double_hear(struct broker_double *broker, const char *type)
{
        int64_t until_us = bh_monotonic_us() + PATIENCE_US;
        int fd = bh_channel_fd(broker->channel);

        assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
        for (;;) {
                struct bh_frame frame;
                struct bh_error error;
                int result = bh_channel_receive(broker->channel, &frame, &error);

                if (result < 0) {
                        assert_int_equal(error.code, BH_ERROR_CLOSED);
                        return NULL;
                }
                if (result == 0) {
                        await_input(fd, until_us);
                        continue;
                }
                assert_int_equal(frame.fd_count, 0);
                if (strcmp(json_string_value(json_object_get(frame.message, "type")), type) == 0)
                        return bh_steal_ptr(&frame.message);
                bh_frame_clear(&frame);
        }
}

void broker_double_die(struct broker_double *broker)
{
        bh_channel_free(broker->channel);
        broker->channel = NULL;
}

static int try_connect(const struct broker_double *broker)
{
        struct sockaddr_un address = {.sun_family = AF_UNIX};
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

        (void)snprintf(address.sun_path, sizeof(address.sun_path), "%s/%s", broker->path,
                       BH_SHIM_CONTROL_SOCKET);
        if (connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0)
                return fd;
        return bh_close(fd);
}

void broker_double_adopt(struct broker_double *broker)
{
        int64_t until_us = bh_monotonic_us() + PATIENCE_US;
        int fd = -1;

        while (fd < 0 && bh_monotonic_us() < until_us) {
                fd = try_connect(broker);
                if (fd < 0)
                        usleep(2000);
        }
        assert_true(fd >= 0);
        broker->channel = bh_channel_new_take(fd);
        broker_double_say(broker, "{\"type\": \"adopt\"}");
}

int broker_double_wait_shim(struct broker_double *broker)
{
        int64_t until_us = bh_monotonic_us() + PATIENCE_US;
        int status;

        while (waitpid(broker->shim, &status, WNOHANG) == 0) {
                if (bh_monotonic_us() > until_us)
                        fail_msg("the shim does not end");
                usleep(1000);
        }
        broker->shim = 0;
        return status;
}

bool broker_double_has_file(const struct broker_double *broker, const char *name)
{
        return faccessat(broker->directory, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

char *broker_double_read(const struct broker_double *broker, const char *name, size_t *ret_size)
{
        char *data;
        size_t size;

        assert_int_equal(bh_read_file(broker->directory, name, 8 << 20, &data, &size, NULL), 0);
        if (ret_size)
                *ret_size = size;
        return data;
}

json_t *broker_double_stored_result(const struct broker_double *broker)
{
        size_t size;
        _cleanup_free_ char *text = broker_double_read(broker, BH_SHIM_RESULT_FILE, &size);
        json_t *result = NULL;

        assert_int_equal(bh_json_parse(text, size, &result, NULL), 0);
        return result;
}
