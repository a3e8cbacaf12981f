/* base/wire: frames and their descriptors between two channels. After each test as many
 * descriptors are open as before. */
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

static struct bh_channel *near_end, *far_end;
static size_t open_before;

static void make_pair(int flags, int ret[2])
{
        open_before = wire_count_open();
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

static int teardown(void **state)
{
        (void)state;
        bh_channel_free(near_end);
        bh_channel_free(far_end);
        near_end = far_end = NULL;
        assert_int_equal(wire_count_open(), open_before);
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
        wire_assert_received(near_end, 2, 0);
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
        wire_assert_received(far_end, 1, 1);
        wire_assert_received(far_end, 2, 0);
        assert_int_equal(bh_channel_receive(far_end, &frame, NULL), 1);
        assert_int_equal(frame.fd_count, 2);
        assert_int_equal(inode(frame.fds[0]), inode(b));
        assert_int_equal(inode(frame.fds[1]), inode(a));
        bh_frame_clear(&frame);
        wire_assert_received(far_end, 4, 1);
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

/* Sends until the queue is full, then receives all of it. Returns how many frames got in. */
static size_t fill_and_drain(const json_t *message)
{
        int fd = bh_memfd_sealed("x", "", 0, NULL);
        ino_t expected = inode(fd);
        struct bh_error error = {0};
        struct bh_frame frame;
        size_t accepted = 0;

        while (bh_channel_send(near_end, message, &fd, 1, &error) == 0)
                accepted++;
        assert_int_equal(error.code, BH_ERROR_UNAVAILABLE);
        bh_close(fd); /* the queue has its own */
        assert_int_equal(bh_channel_flush(near_end, &error), 0);
        for (size_t i = 0; i < accepted; i++) {
                assert_int_equal(pump(&frame), 1);
                assert_int_equal(frame.fd_count, 1);
                assert_int_equal(inode(frame.fds[0]), expected);
                bh_frame_clear(&frame);
        }
        assert_int_equal(bh_channel_flush(near_end, &error), 1);
        return accepted;
}

/* A slow peer is no broken one: the queue has a cap, what got in arrives, and after that there
 * is as much room as before. */
static void test_queue_cap(void **state)
{
        (void)state;
        _cleanup_json_ json_t *large = message_of(BH_WIRE_FRAME_MAX);
        size_t accepted = fill_and_drain(large);

        assert_true(accepted >= BH_WIRE_QUEUE_MAX / BH_WIRE_FRAME_MAX - 1);
        assert_true(accepted <= BH_WIRE_QUEUE_MAX / BH_WIRE_FRAME_MAX);
        assert_int_equal(fill_and_drain(large), accepted);
        assert_int_equal(send_number(near_end, 7, NULL, 0, NULL), 0);
        wire_assert_received(far_end, 7, 0);
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
        size_t before = wire_count_open();

        assert_int_equal(bh_channel_send(near_end, array, NULL, 0, &error), -1);
        assert_int_equal(error.code, BH_ERROR_INTERNAL);
        assert_int_equal(bh_channel_send(near_end, NULL, NULL, 0, &error), -1);
        assert_int_equal(bh_channel_send(near_end, object, fds, BH_WIRE_FDS_MAX + 1, &error), -1);
        assert_int_equal(bh_channel_send(near_end, object, closed, 2, &error), -1);
        assert_int_equal(error.errnum, EBADF);
        assert_int_equal(wire_count_open(), before);
        /* Nothing of them went out. */
        assert_int_equal(send_number(near_end, 5, NULL, 0, &error), 0);
        wire_assert_received(far_end, 5, 0);
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
        wire_assert_received(near_end, 1, 0);
        wire_assert_receive_fails(near_end, BH_ERROR_CLOSED, "closed");
}

/* A peer that closes with bytes of ours unread makes the kernel say ECONNRESET. */
static void test_peer_gone_with_unread_bytes(void **state)
{
        (void)state;
        assert_int_equal(send_number(near_end, 1, NULL, 0, NULL), 0);
        bh_channel_free(far_end);
        far_end = NULL;
        wire_assert_receive_fails(near_end, BH_ERROR_CLOSED, "");
}

static void test_half_closed(void **state)
{
        (void)state;
        assert_int_equal(shutdown(bh_channel_fd(far_end), SHUT_WR), 0);
        wire_assert_receive_fails(near_end, BH_ERROR_CLOSED, "closed");
        assert_int_equal(send_number(near_end, 3, NULL, 0, NULL), 0);
        wire_assert_received(far_end, 3, 0);
}

static void test_free_null(void **state)
{
        (void)state;
        bh_channel_free(NULL);
}

#define channel_test(function) cmocka_unit_test_setup_teardown(function, setup_channels, teardown)

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
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
