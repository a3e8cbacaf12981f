/* What the two tests of base/wire share; see wire_fixture.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <string.h>

#include "wire_fixture.h"

size_t wire_count_open(void)
{
        DIR *stream = opendir("/proc/self/fd");
        size_t count = 0;

        assert_non_null(stream);
        while (readdir(stream))
                count++;
        closedir(stream);
        return count;
}

void wire_assert_received(struct bh_channel *channel, int n, size_t fd_count)
{
        struct bh_frame frame;
        struct bh_error error = {0};

        if (bh_channel_receive(channel, &frame, &error) != 1)
                fail_msg("frame %d: %s", n, error.message);
        assert_int_equal(json_integer_value(json_object_get(frame.message, "n")), n);
        assert_int_equal(frame.fd_count, fd_count);
        bh_frame_clear(&frame);
}

void wire_assert_receive_fails(struct bh_channel *channel, enum bh_error_code code,
                               const char *problem)
{
        struct bh_frame frame;

        /* For ever. */
        for (int i = 0; i < 2; i++) {
                struct bh_error error = {0};

                assert_int_equal(bh_channel_receive(channel, &frame, &error), -1);
                assert_int_equal(error.code, code);
                if (!strstr(error.message, problem))
                        fail_msg("\"%s\" has no \"%s\"", error.message, problem);
        }
}
