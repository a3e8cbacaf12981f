/* See execution_fixture.h. */
#include "execution_fixture.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "broker/shim/run.h"
#include "broker/shim_protocol.h"
#include "order.h"
#include "scripted_driver.h"

static int fake_gateway(struct bh_error *error)
{
        (void)error;
        return open("/dev/null", O_RDONLY | O_CLOEXEC);
}

static int run_shim(void *data, int channel_fd)
{
        struct fixture *fixture = data;

        (void)signal(SIGPIPE, SIG_IGN);
        return bh_shim_run(&fixture->settings, channel_fd);
}

int set_up(void **state)
{
        struct fixture *fixture = calloc(1, sizeof(*fixture));

        scripted_driver = (struct scripted_driver){.failing = NULL};
        fixture->settings = (struct bh_shim_settings){
                .driver_by_name = scripted_driver_by_name,
                .gateway_make = fake_gateway,
                .stop_fd = eventfd(0, EFD_CLOEXEC),
                .online_cpus = 2,
                .buffer = fixture->buffer,
                .buffer_size = sizeof(fixture->buffer),
                .provision_us = 5000000,
                .kill_us = 200000,
                .drain_us = 200000,
                .taken_us = 100000,
                .retry_us = 20000,
        };
        *state = fixture;
        return 0;
}

int tear_down(void **state)
{
        struct fixture *fixture = *state;

        broker_double_close(&fixture->broker);
        bh_close(fixture->settings.stop_fd);
        free(fixture);
        return 0;
}

json_t *order_for(const char *const argv[])
{
        static const char *const controls[] = {"scripted", "limit.wall", "limit.cpu",
                                               "limit.output", NULL};

        return order_new("scripted", argv, controls);
}

void open_shim(struct fixture *fixture)
{
        broker_double_open(&fixture->broker, run_shim, fixture);
}

void begin_take(struct fixture *fixture, json_t *order)
{
        open_shim(fixture);
        broker_double_start_take(&fixture->broker, order, NULL, 0);
}

const char *text_of(const json_t *object, const char *key)
{
        const char *text = json_string_value(json_object_get(object, key));

        return text ? text : "";
}

json_int_t number_in(const json_t *object, const char *key, const char *inner)
{
        return json_integer_value(json_object_get(json_object_get(object, key), inner));
}

json_t *result_of(struct fixture *fixture)
{
        json_t *result = broker_double_hear(&fixture->broker, "result");

        assert_non_null(result);
        broker_double_say(&fixture->broker, "{\"type\": \"taken\"}");
        assert_int_equal(broker_double_wait_shim(&fixture->broker), 0);
        assert_false(broker_double_has_file(&fixture->broker, BH_SHIM_RESULT_FILE));
        assert_false(broker_double_has_file(&fixture->broker, BH_SHIM_CONTROL_SOCKET));
        return result;
}

void assert_outcome(struct fixture *fixture, const char *outcome, const char *detail)
{
        _cleanup_json_ json_t *result = result_of(fixture);

        assert_string_equal(text_of(result, "outcome"), outcome);
        if (!strstr(text_of(result, "detail"), detail))
                fail_msg("%s is not in: %s", detail, text_of(result, "detail"));
}

void assert_output(struct fixture *fixture, const char *name, const char *expected)
{
        _cleanup_free_ char *text = broker_double_read(&fixture->broker, name, NULL);

        assert_string_equal(text, expected);
}
