/* api/broker_link: replies find their call, a watch goes on until its end, a cancelled call hears
 * nothing more, and the end of the channel is told once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>
#include <sys/socket.h>

#include "api/broker_link.h"
#include "base/cleanup.h"
#include "base/fd.h"

struct lab {
        struct event_base *base;
        struct bh_broker *broker;
        struct bh_channel *peer; /* the broker's end */
        int notices, drained, closed;
};

static void on_notice(void *context, struct bh_frame *frame)
{
        (void)frame;
        ((struct lab *)context)->notices++;
}

static void on_drained(void *context)
{
        ((struct lab *)context)->drained++;
}

static void on_closed(void *context, const struct bh_error *error)
{
        assert_int_equal(error->code, BH_ERROR_CLOSED);
        ((struct lab *)context)->closed++;
}

static int open_lab(void **state)
{
        static struct lab lab;
        struct bh_broker_handlers handlers = {&lab, on_notice, on_drained, on_closed};
        int pair[2];

        lab = (struct lab){.base = event_base_new()};
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) < 0)
                return -1;
        lab.peer = bh_channel_new_take(pair[1]);
        *state = &lab;
        return bh_broker_new_take(lab.base, pair[0], &handlers, &lab.broker, NULL);
}

static int close_lab(void **state)
{
        struct lab *lab = *state;

        bh_broker_free(lab->broker);
        bh_channel_free(lab->peer);
        event_base_free(lab->base);
        return 0;
}

static void turn(struct lab *lab)
{
        assert_true(event_base_loop(lab->base, EVLOOP_NONBLOCK) >= 0);
}

static void say(struct lab *lab, json_t *message)
{
        assert_int_equal(bh_channel_send(lab->peer, message, NULL, 0, NULL), 0);
        json_decref(message);
        turn(lab);
}

static void count(void *context, struct bh_frame *frame)
{
        (void)frame;
        ++*(int *)context;
}

static uint64_t call(struct lab *lab, enum bh_op op, int *counter)
{
        _cleanup_json_ json_t *params = json_object();
        struct bh_broker_request request = {op, "", "req_1", params, -1};
        struct bh_frame frame;
        uint64_t id;

        assert_int_equal(bh_broker_call(lab->broker, &request, count, counter, &id, NULL), 0);
        assert_int_equal(bh_channel_receive(lab->peer, &frame, NULL), 1);
        assert_string_equal(json_string_value(json_object_get(frame.message, "op")),
                            bh_op_name(op));
        assert_null(json_object_get(frame.message, "token"));
        bh_frame_clear(&frame);
        return id;
}

static json_t *reply(uint64_t id, int status)
{
        return json_pack("{s:I, s:i}", "id", (json_int_t)id, "status", status);
}

static json_t *event(uint64_t id, const char *name)
{
        return json_pack("{s:I, s:s}", "id", (json_int_t)id, "event", name);
}

static void test_replies_find_their_calls(void **state)
{
        struct lab *lab = *state;
        int first = 0, second = 0;
        uint64_t a = call(lab, BH_OP_HOST, &first), b = call(lab, BH_OP_HOST, &second);

        say(lab, reply(b, 200));
        assert_int_equal(first, 0);
        assert_int_equal(second, 1);
        say(lab, reply(b, 200)); /* there is no such call any more */
        assert_int_equal(second, 1);
        say(lab, reply(a, 500));
        assert_int_equal(first, 1);
        say(lab, json_pack("{s:s}", "event", "drain"));
        assert_int_equal(lab->notices, 1);
        assert_int_equal(lab->drained, 4);
}

static void test_a_watch_goes_on(void **state)
{
        struct lab *lab = *state;
        int seen = 0, refused = 0;
        uint64_t id = call(lab, BH_OP_EXECUTION_WATCH, &seen);
        uint64_t bad = call(lab, BH_OP_EXECUTION_WATCH, &refused);

        say(lab, reply(id, 200));
        say(lab, event(id, "state"));
        say(lab, event(id, "ended"));
        assert_int_equal(seen, 3);
        say(lab, event(id, "state"));
        assert_int_equal(seen, 3);
        say(lab, reply(bad, 404));
        say(lab, event(bad, "state"));
        assert_int_equal(refused, 1);
}

static void test_cancel(void **state)
{
        struct lab *lab = *state;
        struct bh_frame frame;
        int seen = 0;
        uint64_t id = call(lab, BH_OP_EXECUTION_WATCH, &seen);

        bh_broker_cancel(lab->broker, id);
        assert_int_equal(bh_channel_receive(lab->peer, &frame, NULL), 1);
        assert_string_equal(json_string_value(json_object_get(frame.message, "op")), "cancel");
        bh_frame_clear(&frame);
        say(lab, reply(id, 200));
        assert_int_equal(seen, 0);
        bh_broker_cancel(lab->broker, id);
        assert_int_equal(bh_channel_receive(lab->peer, &frame, NULL), 0);
}

static void test_the_end(void **state)
{
        struct lab *lab = *state;

        bh_channel_free(lab->peer);
        lab->peer = NULL;
        turn(lab);
        turn(lab);
        assert_int_equal(lab->closed, 1);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(test_replies_find_their_calls, open_lab, close_lab),
                cmocka_unit_test_setup_teardown(test_a_watch_goes_on, open_lab, close_lab),
                cmocka_unit_test_setup_teardown(test_cancel, open_lab, close_lab),
                cmocka_unit_test_setup_teardown(test_the_end, open_lab, close_lab),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
