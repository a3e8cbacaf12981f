/* base/wire: frames and their descriptors between two channels, and a raw peer that breaks every
 * rule. After each test as many descriptors are open as before. */
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

/* A channel and what is at its other end: another channel or a bare socket. */
static struct bh_channel *near_end, *far_end;
static int raw = -1;
static size_t open_before;

static size_t count_open(void)
{
        DIR *stream = opendir("/proc/self/fd");
        size_t count = 0;

        assert_non_null(stream);
        while (readdir(stream))
                count++;
        closedir(stream);
        return count;
}

static void make_pair(int flags, int ret[2])
{
        open_before = count_open();
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | flags, 0, ret), 0);
}

static int setup_channels(void **state)
{
        int ends[2];

        (void)state;
        make_pair(SOCK_NONBLOCK, ends);
        near_end = bh_channel_new_take(ends[0]);
        far_end = bh_channel_new_take(ends[1]);
        return 0;
}

static int setup_raw(void **state)
{
        int ends[2];

        (void)state;
        make_pair(SOCK_NONBLOCK, ends);
        near_end = bh_channel_new_take(ends[0]);
        raw = ends[1];
        return 0;
}

static int teardown(void **state)
{
        (void)state;
        bh_channel_free(near_end);
        bh_channel_free(far_end);
        near_end = far_end = NULL;
        raw = bh_close(raw);
        assert_int_equal(count_open(), open_before);
        return 0;
}

static ino_t inode(int fd)
{
        struct stat info;

        assert_int_equal(fstat(fd, &info), 0);
        return info.st_ino;
}

/* Sends {"n": n}. */
static int send_number(struct bh_channel *channel, int n, const int *fds, size_t fd_count,
                       struct bh_error *error)
{
        _cleanup_json_ json_t *message = json_pack("{s:i}", "n", n);

        return bh_channel_send(channel, message, fds, fd_count, error);
}

static void assert_received(struct bh_channel *channel, int n, size_t fd_count)
{
        struct bh_frame frame;
        struct bh_error error = {0};

        if (bh_channel_receive(channel, &frame, &error) != 1)
                fail_msg("frame %d: %s", n, error.message);
        assert_int_equal(json_integer_value(json_object_get(frame.message, "n")), n);
        assert_int_equal(frame.fd_count, fd_count);
        bh_frame_clear(&frame);
}

static void assert_receive_fails(enum bh_error_code code, const char *problem)
{
        struct bh_frame frame;

        /* For ever. */
        for (int i = 0; i < 2; i++) {
                struct bh_error error = {0};

                assert_int_equal(bh_channel_receive(near_end, &frame, &error), -1);
                assert_int_equal(error.code, code);
                if (!strstr(error.message, problem))
                        fail_msg("\"%s\" has no \"%s\"", error.message, problem);
        }
}

static void assert_broken(const char *problem)
{
        struct bh_error error = {0};

        assert_receive_fails(BH_ERROR_PROTOCOL, problem);
        assert_int_equal(send_number(near_end, 1, NULL, 0, &error), -1);
        assert_int_equal(error.code, BH_ERROR_PROTOCOL);
        assert_int_equal(bh_channel_flush(near_end, &error), -1);
        assert_false(bh_channel_wants_write(near_end));
}

/* ---- Between channels ---- */

static void test_round_trip(void **state)
{
        (void)state;
        _cleanup_json_ json_t *message = json_pack("{s:[i,n,b], s:s}", "a", 1, 1, "t", "\xc3\xa9");
        struct bh_frame frame;
        struct bh_error error = {0};

        assert_int_equal(bh_channel_receive(far_end, &frame, &error), 0);
        assert_int_equal(bh_channel_send(near_end, message, NULL, 0, &error), 0);
        assert_false(bh_channel_wants_write(near_end));
        assert_int_equal(bh_channel_receive(far_end, &frame, &error), 1);
        assert_true(json_equal(frame.message, message));
        assert_int_equal(frame.fd_count, 0);
        bh_frame_clear(&frame);
        assert_int_equal(bh_channel_receive(far_end, &frame, &error), 0);
        /* And back. */
        assert_int_equal(send_number(far_end, 2, NULL, 0, &error), 0);
        assert_received(near_end, 2, 0);
}

static void test_descriptors(void **state)
{
        (void)state;
        int fds[BH_WIRE_FDS_MAX];

        for (size_t i = 0; i < BH_WIRE_FDS_MAX; i++)
                fds[i] = bh_memfd_sealed("x", "x", 1, NULL);
        for (size_t count = 0; count <= BH_WIRE_FDS_MAX; count++) {
                struct bh_frame frame;

                assert_int_equal(send_number(near_end, 1, fds, count, NULL), 0);
                assert_int_equal(bh_channel_receive(far_end, &frame, NULL), 1);
                assert_int_equal(frame.fd_count, count);
                for (size_t i = 0; i < count; i++) {
                        assert_int_equal(inode(frame.fds[i]), inode(fds[i]));
                        assert_true(fcntl(frame.fds[i], F_GETFD) & FD_CLOEXEC);
                }
                bh_frame_clear(&frame);
                assert_int_equal(frame.fd_count, 0);
        }
        for (size_t i = 0; i < BH_WIRE_FDS_MAX; i++)
                bh_close(fds[i]); /* the caller's own are still its own */
}

static void test_stolen_descriptor_stays_open(void **state)
{
        (void)state;
        int fds[] = {bh_memfd_sealed("a", "", 0, NULL), bh_memfd_sealed("b", "", 0, NULL)};
        struct bh_frame frame;
        int mine, other;

        assert_int_equal(send_number(near_end, 1, fds, 2, NULL), 0);
        assert_int_equal(bh_channel_receive(far_end, &frame, NULL), 1);
        mine = bh_steal_fd(&frame.fds[0]);
        other = frame.fds[1];
        bh_frame_clear(&frame);
        assert_int_equal(inode(mine), inode(fds[0]));
        assert_int_equal(fcntl(other, F_GETFD), -1);
        bh_close(mine);
        bh_close(fds[0]);
        bh_close(fds[1]);
}

/* Frames that wait together keep their own descriptors. */
static void test_frames_do_not_share_descriptors(void **state)
{
        (void)state;
        int a = bh_memfd_sealed("a", "", 0, NULL), b = bh_memfd_sealed("b", "", 0, NULL);
        int both[] = {b, a};
        struct bh_frame frame;

        assert_int_equal(send_number(near_end, 1, &a, 1, NULL), 0);
        assert_int_equal(send_number(near_end, 2, NULL, 0, NULL), 0);
        assert_int_equal(send_number(near_end, 3, both, 2, NULL), 0);
        assert_int_equal(send_number(near_end, 4, &b, 1, NULL), 0);
        assert_received(far_end, 1, 1);
        assert_received(far_end, 2, 0);
        assert_int_equal(bh_channel_receive(far_end, &frame, NULL), 1);
        assert_int_equal(frame.fd_count, 2);
        assert_int_equal(inode(frame.fds[0]), inode(b));
        assert_int_equal(inode(frame.fds[1]), inode(a));
        bh_frame_clear(&frame);
        assert_received(far_end, 4, 1);
        bh_close(a);
        bh_close(b);
}

/* A message whose text has exactly size bytes. */
static json_t *message_of(size_t size)
{
        size_t padding = size - strlen("{\"p\":\"\"}");
        _cleanup_free_ char *text = bh_alloc(padding + 1);

        memset(text, 'p', padding);
        return json_pack("{s:s}", "p", text);
}

/* Moves frames both ways until one is whole. */
static int pump(struct bh_frame *frame)
{
        for (int i = 0; i < 1000000; i++) {
                int result = bh_channel_receive(far_end, frame, NULL);

                if (result != 0)
                        return result;
                assert_true(bh_channel_flush(near_end, NULL) >= 0);
        }
        return 0;
}

static void test_largest_frame(void **state)
{
        (void)state;
        _cleanup_json_ json_t *largest = message_of(BH_WIRE_FRAME_MAX);
        _cleanup_json_ json_t *larger = message_of(BH_WIRE_FRAME_MAX + 1);
        int fd = bh_memfd_sealed("x", "", 0, NULL);
        struct bh_error error = {0};
        struct bh_frame frame;

        assert_int_equal(bh_channel_send(near_end, larger, NULL, 0, &error), -1);
        assert_int_equal(bh_channel_send(near_end, largest, &fd, 1, &error), 0);
        assert_true(bh_channel_wants_write(near_end));
        assert_int_equal(pump(&frame), 1);
        assert_true(json_equal(frame.message, largest));
        assert_int_equal(frame.fd_count, 1);
        assert_int_equal(inode(frame.fds[0]), inode(fd));
        assert_false(bh_channel_wants_write(near_end));
        bh_frame_clear(&frame);
        bh_close(fd);
}

/* A slow peer: the queue has a cap, and what got in arrives, with descriptors that the sender
 * has closed since. */
static void test_queue_cap(void **state)
{
        (void)state;
        _cleanup_json_ json_t *large = message_of(BH_WIRE_FRAME_MAX);
        int fd = bh_memfd_sealed("x", "", 0, NULL);
        ino_t expected = inode(fd);
        struct bh_error error = {0};
        struct bh_frame frame;
        size_t accepted = 0;

        while (bh_channel_send(near_end, large, &fd, 1, &error) == 0)
                accepted++;
        bh_close(fd);
        assert_int_equal(error.code, BH_ERROR_UNAVAILABLE);
        assert_true(accepted >= 15 && accepted <= 16);
        assert_int_equal(bh_channel_flush(near_end, &error), 0);
        for (size_t i = 0; i < accepted; i++) {
                assert_int_equal(pump(&frame), 1);
                assert_int_equal(frame.fd_count, 1);
                assert_int_equal(inode(frame.fds[0]), expected);
                bh_frame_clear(&frame);
        }
        assert_int_equal(bh_channel_flush(near_end, &error), 1);
        /* It was only slow. */
        assert_int_equal(send_number(near_end, 7, NULL, 0, &error), 0);
        assert_received(far_end, 7, 0);
}

static void test_free_with_frames_waiting(void **state)
{
        (void)state;
        _cleanup_json_ json_t *large = message_of(BH_WIRE_FRAME_MAX);
        int fd = bh_memfd_sealed("x", "", 0, NULL);
        struct bh_frame frame;

        for (int i = 0; i < 3; i++)
                assert_int_equal(bh_channel_send(near_end, large, &fd, 1, NULL), 0);
        /* And in the middle of one. */
        assert_int_equal(bh_channel_receive(far_end, &frame, NULL), 0);
        bh_close(fd);
}

static void test_messages_that_cannot_be_sent(void **state)
{
        (void)state;
        _cleanup_json_ json_t *array = json_array(), *object = json_object();
        int fds[BH_WIRE_FDS_MAX + 1] = {0}, closed[] = {0, 100000};
        struct bh_error error = {0};
        size_t before = count_open();

        assert_int_equal(bh_channel_send(near_end, array, NULL, 0, &error), -1);
        assert_int_equal(error.code, BH_ERROR_INTERNAL);
        assert_int_equal(bh_channel_send(near_end, NULL, NULL, 0, &error), -1);
        assert_int_equal(bh_channel_send(near_end, object, fds, BH_WIRE_FDS_MAX + 1, &error), -1);
        assert_int_equal(bh_channel_send(near_end, object, closed, 2, &error), -1);
        assert_int_equal(error.errnum, EBADF);
        assert_int_equal(count_open(), before);
        /* Nothing of them went out. */
        assert_int_equal(send_number(near_end, 5, NULL, 0, &error), 0);
        assert_received(far_end, 5, 0);
}

static void test_peer_gone(void **state)
{
        (void)state;
        struct bh_error error = {0};

        assert_int_equal(send_number(far_end, 1, NULL, 0, NULL), 0);
        bh_channel_free(far_end);
        far_end = NULL;
        /* Without SIGPIPE, which would end this program. */
        assert_int_equal(send_number(near_end, 1, NULL, 0, &error), -1);
        assert_int_equal(error.code, BH_ERROR_CLOSED);
        assert_false(bh_channel_wants_write(near_end));
        assert_int_equal(bh_channel_flush(near_end, &error), -1);
        /* What it sent before can be read. */
        assert_received(near_end, 1, 0);
        assert_receive_fails(BH_ERROR_CLOSED, "closed");
}

/* A peer that closes with bytes of ours unread makes the kernel say ECONNRESET. */
static void test_peer_gone_with_unread_bytes(void **state)
{
        (void)state;
        assert_int_equal(send_number(near_end, 1, NULL, 0, NULL), 0);
        bh_channel_free(far_end);
        far_end = NULL;
        assert_receive_fails(BH_ERROR_CLOSED, "");
}

static void test_half_closed(void **state)
{
        (void)state;
        assert_int_equal(shutdown(bh_channel_fd(far_end), SHUT_WR), 0);
        assert_receive_fails(BH_ERROR_CLOSED, "closed");
        assert_int_equal(send_number(near_end, 3, NULL, 0, NULL), 0);
        assert_received(far_end, 3, 0);
}

static void test_free_null(void **state)
{
        (void)state;
        bh_channel_free(NULL);
}

/* ---- A raw peer ---- */

/* Sends bytes with descriptors, past the caps of a channel. */
static void raw_send(const void *bytes, size_t size, const int *fds, size_t fd_count)
{
        union {
                struct cmsghdr align;
                char space[CMSG_SPACE(sizeof(int) * 64)];
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
        int fds[64] = {0};
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
                assert_received(near_end, 9, 3);
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
        assert_received(near_end, 9, 5);
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
                assert_received(near_end, 1, 0);
}

static void test_bad_lengths(void **state)
{
        static const size_t lengths[] = {0, BH_WIRE_FRAME_MAX + 1, 0x7fffffff, 0xffffffff};
        static const char *const problems[] = {"empty", "too long", "too long", "too long"};

        (void)state;
        for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
                int ends[2];

                raw_frame("{}", lengths[i], 0, 0);
                assert_broken(problems[i]);
                /* A new pair for the next. */
                bh_channel_free(near_end);
                bh_close(raw);
                assert_int_equal(
                        socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends),
                        0);
                near_end = bh_channel_new_take(ends[0]);
                raw = ends[1];
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
        raw_frame("{}", 2, 64, 64);
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
                int ends[2];

                raw_frame(bad[i], strlen(bad[i]), 2, 2);
                assert_broken("not");
                bh_channel_free(near_end);
                bh_close(raw);
                assert_int_equal(
                        socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends),
                        0);
                near_end = bh_channel_new_take(ends[0]);
                raw = ends[1];
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
        assert_received(near_end, 1, 0);
        assert_receive_fails(BH_ERROR_CLOSED, "closed");
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
        assert_received(near_end, 4, 0);
        assert_receive_fails(BH_ERROR_CLOSED, "closed");
        assert_int_equal(waitpid(writer, &status, 0), writer);
        assert_int_equal(status, 0);
}

#define channel_test(function) cmocka_unit_test_setup_teardown(function, setup_channels, teardown)
#define raw_test(function)     cmocka_unit_test_setup_teardown(function, setup_raw, teardown)

int main(void)
{
        const struct CMUnitTest tests[] = {
                channel_test(test_round_trip),
                channel_test(test_descriptors),
                channel_test(test_stolen_descriptor_stays_open),
                channel_test(test_frames_do_not_share_descriptors),
                channel_test(test_largest_frame),
                channel_test(test_queue_cap),
                channel_test(test_free_with_frames_waiting),
                channel_test(test_messages_that_cannot_be_sent),
                channel_test(test_peer_gone),
                channel_test(test_peer_gone_with_unread_bytes),
                channel_test(test_half_closed),
                cmocka_unit_test(test_free_null),
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
