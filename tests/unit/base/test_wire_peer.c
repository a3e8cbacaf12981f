/* base/wire: a peer that breaks every rule. After each test as many descriptors are open as
 * before. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/wire.h"
#include "wire_fixture.h"

#define SCM_FDS_MAX 253 /* of one message, by the kernel (unix(7)) */

static struct bh_channel *near_end;
static int raw = -1; /* the peer */
static size_t open_before;

static void connect_raw(void)
{
        int ends[2];

        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends),
                         0);
        near_end = bh_channel_new_take(ends[0]);
        raw = ends[1];
}

static void disconnect_raw(void)
{
        bh_channel_free(near_end);
        near_end = NULL;
        raw = bh_close(raw);
}

static int setup(void **state)
{
        (void)state;
        open_before = wire_count_open();
        connect_raw();
        return 0;
}

static int teardown(void **state)
{
        (void)state;
        disconnect_raw();
        assert_int_equal(wire_count_open(), open_before);
        return 0;
}

static void assert_broken(const char *problem)
{
        _cleanup_json_ json_t *message = json_object();
        struct bh_error error = {0};

        wire_assert_receive_fails(near_end, BH_ERROR_PROTOCOL, problem);
        assert_int_equal(bh_channel_send(near_end, message, NULL, 0, &error), -1);
        assert_int_equal(error.code, BH_ERROR_PROTOCOL);
        assert_int_equal(bh_channel_flush(near_end, &error), -1);
        assert_false(bh_channel_wants_write(near_end));
}

/* Sends bytes with descriptors, past the caps of a channel. */
static void raw_send(const void *bytes, size_t size, const int *fds, size_t fd_count)
{
        union {
                struct cmsghdr align;
                char space[CMSG_SPACE(sizeof(int) * SCM_FDS_MAX)];
        } control = {.space = {0}};
        struct iovec part = {.iov_base = (void *)bytes, .iov_len = size};
        struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};

        if (fd_count > 0) {
                message.msg_control = control.space;
                message.msg_controllen = CMSG_SPACE(sizeof(int) * fd_count);
                control.align.cmsg_level = SOL_SOCKET;
                control.align.cmsg_type = SCM_RIGHTS;
                control.align.cmsg_len = CMSG_LEN(sizeof(int) * fd_count);
                memcpy(CMSG_DATA(&control.align), fds, sizeof(int) * fd_count);
        }
        assert_int_equal(sendmsg(raw, &message, MSG_NOSIGNAL), size);
}

/* A frame around text, with a count that may lie. Returns its size. */
static size_t build(const char *text, size_t length, size_t count, char *buffer)
{
        for (size_t i = 0; i < 4; i++) {
                buffer[i] = (char)(length >> (8 * i));
                buffer[4 + i] = (char)(count >> (8 * i));
        }
        memcpy(buffer + 8, text, strlen(text));
        return 8 + strlen(text);
}

static void raw_frame(const char *text, size_t length, size_t count, size_t fd_count)
{
        int fds[SCM_FDS_MAX] = {0};
        char buffer[4096];
        size_t size = build(text, length, count, buffer);

        raw_send(buffer, size, fds, fd_count);
}

static void test_byte_by_byte(void **state)
{
        (void)state;
        int fds[] = {0, 1, 2};
        char buffer[64];
        size_t size = build("{\"n\":9}", 7, 3, buffer);
        struct bh_frame frame;

        for (int round = 0; round < 2; round++) {
                for (size_t i = 0; i < size; i++) {
                        assert_int_equal(bh_channel_receive(near_end, &frame, NULL), 0);
                        raw_send(buffer + i, 1, fds, i == 0 ? 3 : 0);
                }
                wire_assert_received(near_end, 9, 3);
        }
}

/* Any byte of the header may bring them. */
static void test_descriptors_spread_over_the_header(void **state)
{
        (void)state;
        int fds[] = {0, 1, 2};
        char buffer[64];
        size_t size = build("{\"n\":9}", 7, 5, buffer);

        raw_send(buffer, 3, fds, 2);
        raw_send(buffer + 3, 4, NULL, 0);
        raw_send(buffer + 7, size - 7, fds, 3);
        wire_assert_received(near_end, 9, 5);
}

static void test_many_frames_in_one_write(void **state)
{
        (void)state;
        char buffer[4096];
        size_t size = 0;

        for (int i = 0; i < 100; i++)
                size += build("{\"n\":1}", 7, 0, buffer + size);
        raw_send(buffer, size, NULL, 0);
        for (int i = 0; i < 100; i++)
                wire_assert_received(near_end, 1, 0);
}

static void test_bad_lengths(void **state)
{
        static const size_t lengths[] = {0, BH_WIRE_FRAME_MAX + 1, 0x7fffffff, 0xffffffff};
        static const char *const problems[] = {"empty", "too long", "too long", "too long"};

        (void)state;
        for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
                raw_frame("{}", lengths[i], 0, 0);
                assert_broken(problems[i]);
                disconnect_raw();
                connect_raw();
        }
}

static void test_count_without_descriptors(void **state)
{
        (void)state;
        raw_frame("{}", 2, 1, 0);
        assert_broken("count");
}

static void test_descriptors_without_count(void **state)
{
        (void)state;
        raw_frame("{}", 2, 0, 1);
        assert_broken("count");
}

static void test_count_over_the_cap(void **state)
{
        (void)state;
        raw_frame("{}", 2, 0xffffffff, BH_WIRE_FDS_MAX);
        assert_broken("count");
}

static void test_too_many_descriptors(void **state)
{
        (void)state;
        raw_frame("{}", 2, BH_WIRE_FDS_MAX + 1, BH_WIRE_FDS_MAX + 1);
        assert_broken("too many descriptors");
}

static void test_very_many_descriptors(void **state)
{
        (void)state;
        raw_frame("{}", 2, SCM_FDS_MAX, SCM_FDS_MAX);
        assert_broken("too many descriptors");
}

/* Each write within the cap, together over it. */
static void test_too_many_descriptors_in_parts(void **state)
{
        (void)state;
        int fds[BH_WIRE_FDS_MAX] = {0};
        struct bh_frame frame;
        char buffer[64];

        build("{}", 2, BH_WIRE_FDS_MAX + 1, buffer);
        raw_send(buffer, 1, fds, BH_WIRE_FDS_MAX);
        assert_int_equal(bh_channel_receive(near_end, &frame, NULL), 0);
        raw_send(buffer + 1, 1, fds, 1);
        assert_broken("too many descriptors");
}

static void test_descriptors_inside_the_payload(void **state)
{
        (void)state;
        int fds[] = {0};
        char buffer[64];
        size_t size = build("{\"n\":9}", 7, 1, buffer);

        raw_send(buffer, 8, fds, 1);
        raw_send(buffer + 8, size - 8, fds, 1);
        assert_broken("descriptors inside");
}

static void test_bad_payloads(void **state)
{
        static const char *const bad[] = {"{",        "[]", "1", "null", "{\"a\":1,\"a\":1}",
                                          "\xff\xff", "{}x"};

        (void)state;
        for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
                raw_frame(bad[i], strlen(bad[i]), 2, 2);
                assert_broken("not");
                disconnect_raw();
                connect_raw();
        }
}

static void test_end_in_the_header(void **state)
{
        (void)state;
        int fds[] = {0};

        raw_send("\x05", 1, fds, 1);
        raw = bh_close(raw);
        assert_broken("inside a frame");
}

static void test_end_in_the_payload(void **state)
{
        (void)state;
        raw_frame("{\"n\":", 100, 3, 3);
        raw = bh_close(raw);
        assert_broken("inside a frame");
}

static void test_end_between_frames(void **state)
{
        (void)state;
        raw_frame("{\"n\":1}", 7, 0, 0);
        raw = bh_close(raw);
        wire_assert_received(near_end, 1, 0);
        wire_assert_receive_fails(near_end, BH_ERROR_CLOSED, "closed");
}

/* On a blocking socket receiving waits for the whole frame, however it comes. */
static void test_blocking(void **state)
{
        (void)state;
        char buffer[64];
        size_t size = build("{\"n\":4}", 7, 0, buffer);
        int ends[2], status;
        pid_t writer;

        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
        writer = fork();
        assert_true(writer >= 0);
        if (writer == 0) {
                bool sent = true;

                for (size_t i = 0; i < size; i += 5) {
                        usleep(5000);
                        sent = sent &&
                               bh_write_full(ends[1], buffer + i, size - i < 5 ? size - i : 5) == 0;
                }
                _exit(sent ? 0 : 1);
        }
        bh_close(ends[1]);
        bh_channel_free(near_end);
        near_end = bh_channel_new_take(ends[0]);
        wire_assert_received(near_end, 4, 0);
        wire_assert_receive_fails(near_end, BH_ERROR_CLOSED, "closed");
        assert_int_equal(waitpid(writer, &status, 0), writer);
        assert_int_equal(status, 0);
}

#define raw_test(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void)
{
        const struct CMUnitTest tests[] = {
                raw_test(test_byte_by_byte),
                raw_test(test_descriptors_spread_over_the_header),
                raw_test(test_many_frames_in_one_write),
                raw_test(test_bad_lengths),
                raw_test(test_count_without_descriptors),
                raw_test(test_descriptors_without_count),
                raw_test(test_count_over_the_cap),
                raw_test(test_too_many_descriptors),
                raw_test(test_very_many_descriptors),
                raw_test(test_too_many_descriptors_in_parts),
                raw_test(test_descriptors_inside_the_payload),
                raw_test(test_bad_payloads),
                raw_test(test_end_in_the_header),
                raw_test(test_end_in_the_payload),
                raw_test(test_end_between_frames),
                raw_test(test_blocking),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
