/* broker/shim/control.c: the channel, its end, and the next broker on control.sock. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "broker/shim/control.h"
#include "broker/shim_protocol.h"

struct fixture {
        char path[200];
        int directory;
        struct bh_control control;
        struct bh_channel *broker;
};

static int set_up(void **state)
{
        struct fixture *fixture = calloc(1, sizeof(*fixture));
        int pair[2];

        /* Longer than sun_path can hold. */
        (void)snprintf(fixture->path, sizeof(fixture->path), "/tmp/shim_control_%0100d.XXXXXX", 0);
        assert_non_null(mkdtemp(fixture->path));
        fixture->directory = open(fixture->path, O_DIRECTORY | O_CLOEXEC);
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
        assert_int_equal(bh_control_open_take(&fixture->control, pair[0], NULL), 0);
        fixture->control.directory = fixture->directory;
        fixture->broker = bh_channel_new_take(pair[1]);
        *state = fixture;
        return 0;
}

static int tear_down(void **state)
{
        struct fixture *fixture = *state;

        bh_control_close(&fixture->control);
        bh_channel_free(fixture->broker);
        bh_close(fixture->directory);
        assert_int_equal(rmdir(fixture->path), 0); /* control.sock is gone with it */
        free(fixture);
        return 0;
}

static void say(struct bh_channel *channel, const char *text)
{
        _cleanup_json_ json_t *message = json_loads(text, 0, NULL);

        assert_non_null(message);
        assert_int_equal(bh_channel_send(channel, message, NULL, 0, NULL), 0);
}

static void leave(struct fixture *fixture)
{
        bh_channel_free(fixture->broker);
        fixture->broker = NULL;
}

static bool is_listening(const struct fixture *fixture)
{
        struct stat file;

        return fstatat(fixture->directory, BH_SHIM_CONTROL_SOCKET, &file, 0) == 0 &&
               S_ISSOCK(file.st_mode) && (file.st_mode & 0777) == 0600;
}

static struct bh_channel *connect_again(const struct fixture *fixture)
{
        struct sockaddr_un address = {.sun_family = AF_UNIX};
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

        (void)snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/%s",
                       fixture->directory, BH_SHIM_CONTROL_SOCKET);
        assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
        return bh_channel_new_take(fd);
}

static int next(struct fixture *fixture, struct bh_command *ret)
{
        struct bh_error error;

        return bh_control_next(&fixture->control, ret, &error);
}

static void commands_come_in_order(void **state)
{
        struct fixture *fixture = *state;
        struct bh_command command;

        assert_int_equal(next(fixture, &command), 0);
        say(fixture->broker, "{\"type\": \"watch\", \"on\": true}");
        say(fixture->broker, "{\"type\": \"taken\"}");
        assert_int_equal(next(fixture, &command), 1);
        assert_int_equal(command.type, BH_COMMAND_WATCH);
        assert_int_equal(next(fixture, &command), 1);
        assert_int_equal(command.type, BH_COMMAND_TAKEN);
        assert_int_equal(next(fixture, &command), 0);
        assert_false(is_listening(fixture));
}

static void what_was_said_before_death_counts(void **state)
{
        struct fixture *fixture = *state;
        struct bh_command command;

        say(fixture->broker, "{\"type\": \"kill\", \"outcome\": \"killed\", \"detail\": \"x\"}");
        leave(fixture);
        assert_int_equal(next(fixture, &command), 1);
        assert_int_equal(command.type, BH_COMMAND_KILL);
        assert_int_equal(next(fixture, &command), 0);
        assert_false(bh_control_has_broker(&fixture->control));
        assert_true(is_listening(fixture));
}

static void a_new_broker_adopts(void **state)
{
        struct fixture *fixture = *state;
        struct bh_command command;
        struct bh_frame frame;

        leave(fixture);
        assert_int_equal(next(fixture, &command), 0);
        assert_int_equal(bh_control_pollfd(&fixture->control).fd, fixture->control.listener);
        fixture->broker = connect_again(fixture);
        assert_int_equal(next(fixture, &command), 0);
        assert_false(bh_control_has_broker(&fixture->control));
        say(fixture->broker, "{\"type\": \"adopt\"}");
        assert_int_equal(next(fixture, &command), 1);
        assert_int_equal(command.type, BH_COMMAND_ADOPT);
        assert_true(bh_control_has_broker(&fixture->control));
        bh_control_send_take(&fixture->control, json_pack("{s:s}", "type", "status"));
        assert_int_equal(bh_channel_receive(fixture->broker, &frame, NULL), 1);
        bh_frame_clear(&frame);

        /* Once more, the next one being there before the last one's death was noticed. */
        leave(fixture);
        fixture->broker = connect_again(fixture);
        say(fixture->broker, "{\"type\": \"adopt\"}");
        assert_int_equal(next(fixture, &command), 1);
        assert_int_equal(command.type, BH_COMMAND_ADOPT);
        assert_true(is_listening(fixture));
}

static void a_broker_that_breaks_the_protocol_is_cut_off(void **state)
{
        static const char *const wrong[] = {"{\"type\": \"adopt\"}", "{\"type\": \"start\"}",
                                            "{\"type\": \"watch\", \"on\": 1}"};

        for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
                struct fixture *fixture;
                struct bh_command command;
                struct bh_error error;

                if (i > 0) {
                        tear_down(state);
                        set_up(state);
                }
                fixture = *state;
                say(fixture->broker, wrong[i]);
                assert_int_equal(bh_control_next(&fixture->control, &command, &error), -1);
                assert_int_equal(error.code, BH_ERROR_PROTOCOL);
                assert_false(bh_control_has_broker(&fixture->control));
                assert_int_equal(next(fixture, &command), 0);
                assert_true(is_listening(fixture));
        }
}

static void a_stranger_costs_only_its_connection(void **state)
{
        struct fixture *fixture = *state;
        struct bh_command command;

        leave(fixture);
        assert_int_equal(next(fixture, &command), 0);
        fixture->broker = connect_again(fixture);
        say(fixture->broker, "{\"type\": \"kill\", \"outcome\": \"killed\", \"detail\": \"x\"}");
        assert_int_equal(next(fixture, &command), 0);
        assert_null(fixture->control.channel);
        leave(fixture);
        fixture->broker = connect_again(fixture);
        say(fixture->broker, "{\"type\": \"adopt\"}");
        assert_int_equal(next(fixture, &command), 1);
        assert_int_equal(command.type, BH_COMMAND_ADOPT);
}

/* The mode keeps others out; the credentials do where the mode was changed. */
static void another_user_is_hung_up_on(void **state)
{
        struct fixture *fixture = *state;
        struct bh_command command;
        int status;
        pid_t child;

        leave(fixture);
        assert_int_equal(next(fixture, &command), 0);
        assert_int_equal(chmod(fixture->path, 0711), 0);
        assert_int_equal(fchmodat(fixture->directory, BH_SHIM_CONTROL_SOCKET, 0666, 0), 0);
        child = fork();
        if (child == 0) {
                struct bh_channel *channel;
                struct bh_frame frame;
                struct bh_error error;

                if (setresuid(65534, 65534, 65534) < 0)
                        _exit(2);
                channel = connect_again(fixture);
                _exit(bh_channel_receive(channel, &frame, &error) < 0 ? 0 : 1);
        }
        for (int i = 0; i < 2; i++) {
                struct pollfd slot = bh_control_pollfd(&fixture->control);

                assert_true(poll(&slot, 1, i == 0 ? 2000 : 50) >= 0);
                assert_int_equal(next(fixture, &command), 0);
        }
        assert_null(fixture->control.channel);
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(commands_come_in_order, set_up, tear_down),
                cmocka_unit_test_setup_teardown(what_was_said_before_death_counts, set_up,
                                                tear_down),
                cmocka_unit_test_setup_teardown(a_new_broker_adopts, set_up, tear_down),
                cmocka_unit_test_setup_teardown(a_broker_that_breaks_the_protocol_is_cut_off,
                                                set_up, tear_down),
                cmocka_unit_test_setup_teardown(a_stranger_costs_only_its_connection, set_up,
                                                tear_down),
                cmocka_unit_test_setup_teardown(another_user_is_hung_up_on, set_up, tear_down),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
