/* broker/shim/start_order.c: a whole order is understood; one with anything wrong is not. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "broker/shim/start_order.h"
#include "order.h"
#include "policy/request.h"

static json_t *new_order(void)
{
        static const char *const argv[] = {"true", NULL};
        static const char *const controls[] = {"limit.wall", NULL};

        return order_new("subprocess", argv, controls);
}

/* Takes order; the frame carries the payload when it is not NULL. */
static int decode_take(json_t *order, const char *payload, struct bh_start_order **ret,
                       struct bh_error *error)
{
        struct bh_frame frame = {.message = order, .fd_count = 0};
        int result;

        if (payload)
                frame.fds[frame.fd_count++] =
                        bh_memfd_sealed("payload", payload, strlen(payload), NULL);
        result = bh_start_order_decode(&frame, ret, error);
        bh_frame_clear(&frame);
        return result;
}

static void a_plain_order_is_understood(void **state)
{
        _cleanup_(bh_start_order_cleanup) struct bh_start_order *order = NULL;
        struct bh_error error;

        (void)state;
        assert_int_equal(decode_take(new_order(), NULL, &order, &error), 0);
        assert_string_equal(order->instance.id, ORDER_ID);
        assert_string_equal(order->plan->argv[0], "true");
        assert_string_equal(order->host.cgroup_parent, "bulkhead.1a2b3c4d");
        assert_int_equal(order->host.uid_base, 1900000000);
        assert_int_equal(order->instance.workload_uid, 1900000002);
        assert_int_equal(order->instance.init_uid, 1900000003);
        assert_int_equal(order->instance.payload_fd, -1);
        assert_int_equal(order->instance.workspace_fd, -1);
        assert_false(order->has_stdin);
        assert_int_equal(order->file_count, 0);
}

static void files_and_stdin_lie_in_the_payload(void **state)
{
        _cleanup_(bh_start_order_cleanup) struct bh_start_order *order = NULL;
        json_t *json = new_order();
        struct bh_error error;

        (void)state;
        json_object_set_new(json, "payload", json_true());
        json_object_set_new(json, "files",
                            json_pack("[{s:s, s:i, s:i, s:i}]", "path", "dir/main.py", "mode", 0640,
                                      "offset", 0, "length", 6));
        json_object_set_new(json, "stdin", json_pack("{s:i, s:i}", "offset", 6, "length", 4));
        assert_int_equal(decode_take(json, "0123456789", &order, &error), 0);
        assert_int_equal(order->file_count, 1);
        assert_string_equal(order->instance.files[0].path, "dir/main.py");
        assert_int_equal(order->instance.files[0].mode, 0640);
        assert_int_equal(order->instance.files[0].length, 6);
        assert_true(order->has_stdin);
        assert_int_equal(order->stdin_offset, 6);
        assert_int_equal(order->stdin_length, 4);
}

static void assert_refused_take(json_t *order, const char *payload, const char *place)
{
        struct bh_start_order *decoded = NULL;
        struct bh_error error = {.code = BH_ERROR_NONE};

        assert_int_equal(decode_take(order, payload, &decoded, &error), -1);
        assert_null(decoded);
        assert_int_equal(error.code, BH_ERROR_PROTOCOL);
        if (!strstr(error.message, place))
                fail_msg("%s is not in: %s", place, error.message);
}

/* Sets the member at a path of object keys. */
static json_t *with(const char *parent, const char *key, json_t *value)
{
        json_t *order = new_order();

        json_object_set_new(parent ? json_object_get(order, parent) : order, key, value);
        return order;
}

static json_t *without(const char *parent, const char *key)
{
        json_t *order = new_order();

        json_object_del(parent ? json_object_get(order, parent) : order, key);
        return order;
}

static void unknown_members_are_refused(void **state)
{
        (void)state;
        assert_refused_take(with(NULL, "isolaton", json_string("vm")), NULL, "/isolaton");
        assert_refused_take(with("host", "extra", json_null()), NULL, "/host/extra");
        assert_refused_take(with("instance", "extra", json_null()), NULL, "/instance/extra");
        assert_refused_take(with("plan", "extra", json_null()), NULL, "/plan/extra");
}

static void missing_members_are_refused(void **state)
{
        static const char *const members[] = {"type",  "execution", "plan",
                                              "host",  "instance",  "files",
                                              "stdin", "payload",   "workspace_image"};
        static const char *const host[] = {"state_dir", "run_dir", "cgroup_parent", "uid_base"};

        (void)state;
        for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++)
                assert_refused_take(without(NULL, members[i]), NULL, members[i]);
        for (size_t i = 0; i < sizeof(host) / sizeof(host[0]); i++)
                assert_refused_take(without("host", host[i]), NULL, host[i]);
        assert_refused_take(without("instance", "init_uid"), NULL, "init_uid");
}

static void wrong_values_are_refused(void **state)
{
        (void)state;
        assert_refused_take(with(NULL, "type", json_string("begin")), NULL, "/type");
        assert_refused_take(with(NULL, "execution", json_string("ex_../../etc")), NULL,
                            "/execution");
        assert_refused_take(with(NULL, "payload", json_integer(0)), NULL, "/payload");
        assert_refused_take(with("host", "run_dir", json_string("run")), NULL, "/host/run_dir");
        assert_refused_take(with("host", "cgroup_parent", json_string("a/b")), NULL,
                            "/host/cgroup_parent");
        assert_refused_take(with("host", "cgroup_parent", json_string("..")), NULL,
                            "/host/cgroup_parent");
        assert_refused_take(with("host", "uid_base", json_integer(0)), NULL, "/host/uid_base");
        assert_refused_take(with("instance", "workload_uid", json_integer(0)), NULL,
                            "/instance/workload_uid");
        assert_refused_take(with("instance", "workload_uid", json_integer(1900000003)), NULL,
                            "/instance");
        assert_refused_take(with("plan", "version", json_integer(2)), NULL, "/plan/version");
}

static void descriptors_must_be_those_that_it_names(void **state)
{
        (void)state;
        assert_refused_take(with(NULL, "payload", json_true()), NULL, "descriptors");
        assert_refused_take(new_order(), "unannounced", "descriptors");
        assert_refused_take(with(NULL, "workspace_image", json_true()),
                            "an image that the plan"
                            " does not know",
                            "workspace_image");
}

/* After the others, in the plan's order. */
static void sources_of_mounts_come_last(void **state)
{
        json_t *json = new_order();
        json_t *mounts =
                json_pack("[{s:s, s:s, s:s}, {s:s, s:s, s:s}]", "source", "/srv/a", "target", "/a",
                          "mode", "ro", "source", "/srv/b", "target", "/b", "mode", "ro");
        struct bh_frame frame = {.message = json, .fd_count = 0};
        struct bh_start_order *order = NULL;
        struct bh_error error;
        struct stat first, second;

        (void)state;
        json_object_set_new(json_object_get(json, "plan"), "mounts", json_deep_copy(mounts));
        frame.fds[frame.fd_count++] = open("/usr", O_PATH | O_CLOEXEC);
        frame.fds[frame.fd_count++] = open("/etc", O_PATH | O_CLOEXEC);
        json_incref(json);
        assert_int_equal(bh_start_order_decode(&frame, &order, &error), 0);
        bh_frame_clear(&frame);
        assert_int_equal(fstat(order->instance.mount_fds[0], &first), 0);
        assert_int_equal(stat("/usr", &second), 0);
        assert_int_equal(first.st_ino, second.st_ino);
        assert_int_equal(fstat(order->instance.mount_fds[1], &first), 0);
        assert_int_equal(stat("/etc", &second), 0);
        assert_int_equal(first.st_ino, second.st_ino);
        bh_start_order_free(order);
        assert_refused_take(json, NULL, "descriptors");
        json_decref(mounts);
}

static void an_unsealed_payload_is_refused(void **state)
{
        struct bh_frame frame = {.message = with(NULL, "payload", json_true()),
                                 .fds = {open("/tmp", O_DIRECTORY | O_CLOEXEC)},
                                 .fd_count = 1};
        struct bh_start_order *order = NULL;
        struct bh_error error;

        (void)state;
        assert_int_equal(bh_start_order_decode(&frame, &order, &error), -1);
        assert_non_null(strstr(error.message, "sealed"));
        bh_frame_clear(&frame);
}

static json_t *with_file(const char *path, json_int_t mode, json_int_t offset, json_int_t length)
{
        json_t *order = with(NULL, "payload", json_true());

        json_object_set_new(order, "files",
                            json_pack("[{s:s, s:I, s:I, s:I}]", "path", path, "mode", mode,
                                      "offset", offset, "length", length));
        return order;
}

static void files_must_stay_inside(void **state)
{
        (void)state;
        assert_refused_take(with_file("../x", 0644, 0, 1), "0123", "/files/0/path");
        assert_refused_take(with_file("/x", 0644, 0, 1), "0123", "/files/0/path");
        assert_refused_take(with_file("x", 04755, 0, 1), "0123", "/files/0/mode");
        assert_refused_take(with_file("x", 0644, 0, 5), "0123", "/files/0/length");
        assert_refused_take(with_file("x", 0644, 2, 3), "0123", "/files/0/length");
        assert_refused_take(with_file("x", 0644, 5, 0), "0123", "/files/0/offset");
        assert_refused_take(with_file("x", 0644, -1, 1), "0123", "/files/0/offset");
        assert_refused_take(with(NULL, "files",
                                 json_pack("[{s:s, s:i, s:i, s:i}]", "path", "x", "mode", 0644,
                                           "offset", 0, "length", 0)),
                            NULL, "/files");
        assert_refused_take(with(NULL, "stdin", json_pack("{s:i, s:i}", "offset", 0, "length", 0)),
                            NULL, "/stdin");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_plain_order_is_understood),
                cmocka_unit_test(files_and_stdin_lie_in_the_payload),
                cmocka_unit_test(unknown_members_are_refused),
                cmocka_unit_test(missing_members_are_refused),
                cmocka_unit_test(wrong_values_are_refused),
                cmocka_unit_test(descriptors_must_be_those_that_it_names),
                cmocka_unit_test(sources_of_mounts_come_last),
                cmocka_unit_test(an_unsealed_payload_is_refused),
                cmocka_unit_test(files_must_stay_inside),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
