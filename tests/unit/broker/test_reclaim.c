/* A start after a crash: adopt, take the result, or destroy. */
#include "fixture.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/alloc.h"
#include "broker/shim_protocol.h"

static char *path_of(const char *id, const char *name)
{
        return bh_format("%s/state/executions/%s/%s", fixture.directory, id, name);
}

static void expect_outcome(const char *id, const char *outcome)
{
        _cleanup_json_ json_t *shown =
                fixture_expect(200, "executions.get", json_pack("{ss}", "execution", id));
        assert_string_equal(text_at(shown, "outcome"), outcome);
}

static void running(char id[BH_ID_SIZE])
{
        fixture_agent("a1", "['command.run']");
        fixture_execute("a1", NULL, id);
        fixture_settle();
}

static void without_a_trace_of_its_shim_it_is_lost(void **state)
{
        (void)state;
        char id[BH_ID_SIZE];
        running(id);
        fixture_crash();
        fixture_start(NULL, NULL);
        expect_outcome(id, "lost");
        assert_string_equal(fixture.last_destroyed, id);
        assert_int_equal(fixture.daemon->executions.active, 0);
}

static void a_result_on_disk_is_taken(void **state)
{
        (void)state;
        char id[BH_ID_SIZE];
        running(id);
        fixture_crash();
        _cleanup_free_ char *path = path_of(id, BH_SHIM_RESULT_FILE);
        _cleanup_json_ json_t *result = quoted(
                "{'type': 'result', 'outcome': 'exited', 'exit_code': 9, 'signal': null, "
                "'detail': '', 'usage': {'wall_ms': 1, 'cpu_ms': 1, 'memory_peak_bytes': 1, "
                "'oom_kills': 0}, 'timing': {'provision_ms': 1, 'run_ms': 1, 'teardown_ms': 1}, "
                "'started_ms': 5, 'ended_ms': 6, 'stdout': {'bytes': 0, 'dropped_bytes': 0}, "
                "'stderr': {'bytes': 0, 'dropped_bytes': 0}, 'evidence': null}");
        assert_int_equal(json_dump_file(result, path, 0), 0);
        size_t destroyed = fixture.destroyed;
        fixture_start(NULL, NULL);
        _cleanup_json_ json_t *shown =
                fixture_expect(200, "executions.get", json_pack("{ss}", "execution", id));
        assert_string_equal(text_at(shown, "outcome"), "exited");
        assert_int_equal(json_integer_value(json_object_get(shown, "exit_code")), 9);
        assert_int_equal(fixture.destroyed, destroyed);
        assert_int_equal(access(path, F_OK), -1); /* stored, so no longer needed */
}

static void a_result_that_cannot_be_read_is_lost(void **state)
{
        (void)state;
        char id[BH_ID_SIZE];
        running(id);
        fixture_crash();
        _cleanup_free_ char *path = path_of(id, BH_SHIM_RESULT_FILE);
        int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
        assert_int_equal(write(fd, "{\"type\":", 8), 8);
        close(fd);
        fixture_start(NULL, NULL);
        expect_outcome(id, "lost");
}

/* A shim that outlived its broker. */
static int listen_as_shim(const char *id)
{
        _cleanup_free_ char *path = path_of(id, BH_SHIM_CONTROL_SOCKET);
        struct sockaddr_un address = {.sun_family = AF_UNIX};
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        assert_true(strlen(path) < sizeof(address.sun_path));
        strcpy(address.sun_path, path);
        assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
        assert_int_equal(listen(fd, 1), 0);
        return fd;
}

static size_t accept_broker(int listener)
{
        int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        assert_true(fd >= 0);
        fixture.shims[fixture.shim_count] = bh_channel_new_take(fd);
        return fixture.shim_count++;
}

static void a_directory_that_no_row_knows_is_removed(void **state)
{
        (void)state;
        char kept[BH_ID_SIZE], empty[BH_ID_SIZE], full[BH_ID_SIZE];
        running(kept);
        fixture_crash();
        bh_id_make("ex_", empty);
        bh_id_make("ex_", full);
        _cleanup_free_ char *kept_path = path_of(kept, ""), *empty_path = path_of(empty, ""),
                            *full_path = path_of(full, ""), *output = path_of(full, "stdout");
        assert_int_equal(mkdir(empty_path, 0700), 0);
        assert_int_equal(mkdir(full_path, 0700), 0);
        close(open(output, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
        fixture_start(NULL, NULL);
        assert_int_equal(access(kept_path, F_OK), 0);
        assert_int_equal(access(empty_path, F_OK), -1);
        assert_int_equal(access(full_path, F_OK), -1);
}

static void a_living_shim_is_adopted(void **state)
{
        (void)state;
        char id[BH_ID_SIZE];
        size_t got = 0;
        running(id);
        int64_t slot = bh_live_find(fixture.daemon, id)->record->slot;
        fixture_crash();
        int listener = listen_as_shim(id);
        fixture_start(NULL, NULL);
        size_t shim = accept_broker(listener);
        close(listener);
        json_decref(fixture_expect_shim_frame("adopt", &got));
        assert_int_equal(got, shim);
        fixture_shim_send(shim, "{'type': 'status', 'state': 'running', 'at_ms': 8, "
                                "'started_ms': 7}");
        assert_false(bh_slots_claim(&fixture.daemon->slots, slot)); /* its uids are still its own */
        _cleanup_json_ json_t *shown =
                fixture_expect(200, "executions.get", json_pack("{ss}", "execution", id));
        assert_string_equal(text_at(shown, "state"), "running");
        json_decref(fixture_expect(202, "executions.delete", json_pack("{ss}", "execution", id)));
        json_decref(fixture_expect_shim_frame("kill", &got));
        fixture_shim_result(shim, "killed");
        json_decref(fixture_expect_shim_frame("taken", &got));
        expect_outcome(id, "killed");
        assert_int_equal(fixture.destroyed, 0);
}

static void an_adopted_shim_that_dies_is_lost(void **state)
{
        (void)state;
        char id[BH_ID_SIZE];
        running(id);
        fixture_crash();
        int listener = listen_as_shim(id);
        fixture_start(NULL, NULL);
        size_t shim = accept_broker(listener);
        close(listener);
        fixture_shim_close(shim);
        expect_outcome(id, "lost");
        assert_string_equal(fixture.last_destroyed, id);
}

static void what_was_queued_is_lost(void **state)
{
        (void)state;
        char first[BH_ID_SIZE];
        fixture_stop();
        fixture_start("{'executions': {'concurrent': 1}}", NULL);
        running(first);
        _cleanup_json_ json_t *queued =
                fixture_expect(201, "executions.create", fixture_request("a1", NULL));
        assert_string_equal(text_at(queued, "state"), "queued");
        fixture_crash();
        fixture_start(NULL, NULL);
        expect_outcome(text_at(queued, "execution"), "lost");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                BROKER_TEST(without_a_trace_of_its_shim_it_is_lost),
                BROKER_TEST(a_result_on_disk_is_taken),
                BROKER_TEST(a_result_that_cannot_be_read_is_lost),
                BROKER_TEST(a_directory_that_no_row_knows_is_removed),
                BROKER_TEST(a_living_shim_is_adopted),
                BROKER_TEST(an_adopted_shim_that_dies_is_lost),
                BROKER_TEST(what_was_queued_is_lost),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
