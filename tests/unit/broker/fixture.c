/* A whole broker in this process. */
#include "fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"

#define PATIENCE_US ((int64_t)1000 * 1000)

struct fixture fixture;

/* Replies that came while another was waited for. */
static json_t *kept[1024];
static size_t kept_count;

static int fake_install(const struct bh_driver_host *paths, struct bh_error *error)
{
        (void)paths;
        (void)error;
        return 0;
}

static int fake_probe(const struct bh_driver_host *paths, struct bh_host *ret,
                      struct bh_error *error)
{
        (void)paths;
        (void)error;
        fixture.probes++;
        *ret = (struct bh_host){.cgroup = "v2"};
        ret->kernel = bh_strdup("6.1");
        ret->kvm_reason = bh_strdup("none");
        for (int tier = 0; tier < BH_TIER_COUNT; tier++)
                bh_tier_host_add_missing(&ret->tier[tier], "scripted", "");
        if (fixture.host_unavailable)
                return 0;
        for (int tier = BH_TIER_SUBPROCESS; tier <= BH_TIER_CONTAINER; tier++) {
                struct bh_tier_host *host = &ret->tier[tier];
                host->available = true;
                host->driver = bh_strdup(bh_tier_name((enum bh_tier)tier));
                host->technology = bh_strdup("scripted");
                host->version = bh_strdup("1");
                host->features = 1U << BH_FEATURE_NAMED_WORKSPACE | 1U << BH_FEATURE_MOUNTS;
        }
        return 0;
}

static int fake_spawn(struct bh_daemon *daemon, int *ret_channel, struct bh_pidref *ret,
                      struct bh_error *error)
{
        int pair[2];
        (void)daemon;
        if (fixture.no_spawn)
                return bh_error_errno(error, EMFILE, "start a scripted shim");
        if (fixture.shim_count == FIXTURE_SHIMS_MAX)
                return bh_error_set(error, BH_ERROR_UNAVAILABLE, "no more scripted shims");
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair),
                         0);
        fixture.shims[fixture.shim_count++] = bh_channel_new_take(pair[1]);
        *ret_channel = pair[0];
        *ret = BH_PIDREF_NONE;
        return 0;
}

static int fake_destroy(struct bh_daemon *daemon, const char *id, struct bh_error *error)
{
        (void)daemon;
        (void)error;
        fixture.destroyed++;
        snprintf(fixture.last_destroyed, sizeof(fixture.last_destroyed), "%s", id);
        return 0;
}

static const struct bh_seams seams = {
        .install = fake_install,
        .probe = fake_probe,
        .spawn_shim = fake_spawn,
        .destroy = fake_destroy,
};

static struct bh_config *make_config(const char *text)
{
        char state_flag[96], run_flag[96], program[] = "bulkheadd";
        snprintf(state_flag, sizeof(state_flag), "--state-dir=%s/state", fixture.directory);
        snprintf(run_flag, sizeof(run_flag), "--run-dir=%s/run", fixture.directory);
        char *argv[] = {program, state_flag, run_flag, NULL};
        enum bh_config_result result = BH_CONFIG_RUN;
        struct bh_config *config = NULL;
        assert_int_equal(bh_config_read(3, argv, &config, &result, NULL), 0);
        config->spares = 2;
        if (text) {
                _cleanup_json_ json_t *json = quoted(text);
                struct bh_json_at at = BH_JSON_ROOT(json);
                assert_int_equal(bh_config_decode(&at, config, NULL), 0);
        }
        return config;
}

static struct bh_policy *make_policy(const char *text)
{
        struct bh_policy *policy = NULL;
        if (!text) {
                assert_int_equal(bh_policy_load(NULL, &policy, NULL), 0);
                return policy;
        }
        struct bh_policy *standard = NULL;
        assert_int_equal(bh_policy_load(NULL, &standard, NULL), 0);
        _cleanup_json_ json_t *json = bh_policy_encode(standard);
        _cleanup_json_ json_t *changes = quoted(text);
        bh_policy_free(standard);
        json_object_update(json, changes);
        struct bh_json_at at = BH_JSON_ROOT(json);
        struct bh_error error = {0};
        if (bh_policy_decode(&at, &policy, &error) < 0)
                fail_msg("policy: %s at %s", error.message, error.subject);
        return policy;
}

int fixture_start(const char *config, const char *policy)
{
        struct bh_error error = {0};
        int pair[2];
        if (!fixture.directory[0])
                temporary_directory(fixture.directory, sizeof(fixture.directory));
        if (bh_daemon_new_take(make_config(config), make_policy(policy), &seams, &fixture.daemon,
                               &error) < 0)
                fail_msg("%s", error.message);
        if (bh_daemon_reclaim(fixture.daemon, &error) < 0)
                fail_msg("%s", error.message);
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair),
                         0);
        bh_api_attach_take(fixture.daemon, pair[0]);
        fixture.api = bh_channel_new_take(pair[1]);
        bh_daemon_commit(fixture.daemon);
        return 0;
}

void fixture_crash(void)
{
        for (size_t i = 0; i < kept_count; i++)
                json_decref(kept[i]);
        kept_count = 0;
        bh_daemon_free(fixture.daemon);
        fixture.daemon = NULL;
        bh_channel_free(fixture.api);
        for (size_t i = 0; i < fixture.shim_count; i++)
                if (fixture.shims[i])
                        bh_channel_free(fixture.shims[i]);
        fixture.shim_count = 0;
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
        (void)st;
        (void)type;
        (void)ftw;
        return remove(path);
}

void fixture_stop(void)
{
        fixture_crash();
        nftw(fixture.directory, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
        fixture = (struct fixture){0};
}

int fixture_setup(void **state)
{
        (void)state;
        return fixture_start(NULL, NULL);
}

int fixture_teardown(void **state)
{
        (void)state;
        fixture_stop();
        return 0;
}

void fixture_settle(void)
{
        /* Several rounds, since a frame may cause another; timers of a spare are 0.5 ms. */
        for (int i = 0; i < 4; i++)
                bh_daemon_turn(fixture.daemon, false);
}

void fixture_sleep_ms(int ms)
{
        for (int64_t end = bh_monotonic_us() + ms * 1000; bh_monotonic_us() < end;) {
                fixture_settle();
                usleep(500);
        }
}

static const char *token_of(enum bh_role role, char buffer[BH_SHA256_HEX_SIZE])
{
        _cleanup_free_ char *path =
                bh_format("%s/state/tokens/%s", fixture.directory, bh_role_name(role));
        _cleanup_free_ char *text = NULL;
        size_t size = 0;
        assert_int_equal(bh_read_file(AT_FDCWD, path, 1024, &text, &size, NULL), 0);
        bh_sha256_hex(text, size - 1, buffer); /* without the newline */
        return buffer;
}

int64_t fixture_send(const char *op, enum bh_role role, json_t *params)
{
        char hash[BH_SHA256_HEX_SIZE];
        int64_t id = ++fixture.next_id;
        json_t *frame = json_pack("{sIsssssoss*}", "id", (json_int_t)id, "op", op, "request_id",
                                  "req_test", "params", params, "token",
                                  role == BH_ROLE_ANONYMOUS ? NULL : token_of(role, hash));
        assert_int_equal(bh_channel_send(fixture.api, frame, NULL, 0, NULL), 0);
        json_decref(frame);
        return id;
}

static void read_replies(void)
{
        for (;;) {
                struct bh_frame frame = {0};
                if (bh_channel_receive(fixture.api, &frame, NULL) <= 0)
                        return;
                if (json_object_get(frame.message, "status"))
                        fixture.reply_fds = frame.fd_count;
                assert_true(kept_count < sizeof(kept) / sizeof(kept[0]));
                if (json_object_get(frame.message, "id"))
                        kept[kept_count++] = json_incref(frame.message);
                bh_frame_clear(&frame);
        }
}

static json_t *take_kept(int64_t id)
{
        for (size_t i = 0; i < kept_count; i++) {
                if (json_integer_value(json_object_get(kept[i], "id")) != id)
                        continue;
                json_t *message = kept[i];
                memmove(&kept[i], &kept[i + 1], (kept_count - i - 1) * sizeof(kept[0]));
                kept_count--;
                return message;
        }
        return NULL;
}

json_t *fixture_receive(int64_t id)
{
        for (int64_t end = bh_monotonic_us() + PATIENCE_US; bh_monotonic_us() < end;) {
                fixture_settle();
                read_replies();
                json_t *message = take_kept(id);
                if (message)
                        return message;
                usleep(200);
        }
        return NULL;
}

void fixture_expect_silence(int64_t id)
{
        fixture_settle();
        read_replies();
        json_t *message = take_kept(id);
        if (message)
                fail_msg("unexpected: %s", bh_json_text(message));
}

json_t *fixture_call(const char *op, json_t *params)
{
        json_t *reply = fixture_receive(fixture_send(op, BH_ROLE_OPERATOR, params));
        assert_non_null(reply);
        return reply;
}

json_t *fixture_expect(int status, const char *op, json_t *params)
{
        json_t *reply = fixture_call(op, params);
        if (json_integer_value(json_object_get(reply, "status")) != status)
                fail_msg("%s: %s", op, bh_json_text(reply));
        json_t *body = json_object_get(reply, status < 400 ? "body" : "problem");
        json_incref(body);
        json_decref(reply);
        return body;
}

void fixture_cancel(int64_t id)
{
        _cleanup_json_ json_t *frame = json_pack("{sIss}", "id", (json_int_t)id, "op", "cancel");
        assert_int_equal(bh_channel_send(fixture.api, frame, NULL, 0, NULL), 0);
        fixture_settle();
}

void fixture_agent(const char *name, const char *capabilities)
{
        json_t *reply =
                fixture_call("agents.put", json_pack("{sss{ssso}}", "agent", name, "body", "owner",
                                                     "o", "capabilities", quoted(capabilities)));
        assert_true(json_integer_value(json_object_get(reply, "status")) < 300);
        json_decref(reply);
}

json_t *fixture_request(const char *agent, const char *extra)
{
        char digest[BH_DIGEST_TEXT_SIZE];
        json_t *body = json_pack("{sss[s]}", "agent", agent, "argv", "true");
        if (extra) {
                _cleanup_json_ json_t *members = quoted(extra);
                json_object_update(body, members);
        }
        bh_json_digest(body, digest);
        return json_pack("{soss}", "body", body, "body_digest", digest);
}

size_t fixture_execute(const char *agent, const char *extra, char ret_id[BH_ID_SIZE])
{
        size_t shim = 0;
        _cleanup_json_ json_t *body =
                fixture_expect(201, "executions.create", fixture_request(agent, extra));
        snprintf(ret_id, BH_ID_SIZE, "%s", text_at(body, "execution"));
        _cleanup_json_ json_t *start = fixture_expect_start(&shim);
        assert_string_equal(text_at(start, "execution"), ret_id);
        return shim;
}

json_t *fixture_expect_start(size_t *ret_shim)
{
        size_t went = 0;
        json_t *start = fixture_expect_shim_frame("start", ret_shim);
        json_decref(fixture_expect_shim_frame("go", &went));
        assert_int_equal(went, *ret_shim);
        return start;
}

json_t *fixture_shim_frame(size_t *ret_shim)
{
        for (int64_t end = bh_monotonic_us() + PATIENCE_US; bh_monotonic_us() < end;) {
                fixture_settle();
                for (size_t i = 0; i < fixture.shim_count; i++) {
                        struct bh_frame frame = {0};
                        if (!fixture.shims[i] ||
                            bh_channel_receive(fixture.shims[i], &frame, NULL) <= 0)
                                continue;
                        json_t *message = json_incref(frame.message);
                        if (strcmp(text_at(message, "type"), "start") == 0) {
                                fixture.order_fds = frame.fd_count;
                                if (frame.fd_count > 0)
                                        fstat(frame.fds[frame.fd_count - 1],
                                              &fixture.last_order_fd);
                        }
                        bh_frame_clear(&frame);
                        *ret_shim = i;
                        return message;
                }
                usleep(200);
        }
        return NULL;
}

json_t *fixture_expect_shim_frame(const char *type, size_t *ret_shim)
{
        json_t *frame = fixture_shim_frame(ret_shim);
        if (!frame)
                fail_msg("no shim got \"%s\"", type);
        assert_string_equal(text_at(frame, "type"), type);
        return frame;
}

void fixture_expect_no_shim_frame(void)
{
        fixture_settle();
        for (size_t i = 0; i < fixture.shim_count; i++) {
                struct bh_frame frame = {0};
                if (fixture.shims[i] && bh_channel_receive(fixture.shims[i], &frame, NULL) > 0)
                        fail_msg("unexpected: %s", bh_json_text(frame.message));
        }
}

void fixture_shim_send(size_t shim, const char *frame)
{
        _cleanup_json_ json_t *message = quoted(frame);
        assert_int_equal(bh_channel_send(fixture.shims[shim], message, NULL, 0, NULL), 0);
        fixture_settle();
}

void fixture_shim_state(size_t shim, const char *state)
{
        _cleanup_free_ char *frame = bh_format("{'type': 'state', 'state': '%s', 'at_ms': %lld}",
                                               state, (long long)bh_realtime_ms());
        fixture_shim_send(shim, frame);
}

void fixture_shim_result(size_t shim, const char *outcome)
{
        _cleanup_free_ char *frame = bh_format(
                "{'type': 'result', 'outcome': '%s', 'exit_code': %s, 'signal': null, 'detail': "
                "'', 'usage': {'wall_ms': 1, 'cpu_ms': 1, 'memory_peak_bytes': 1, 'oom_kills': "
                "0}, 'timing': {'provision_ms': 1, 'run_ms': 1, 'teardown_ms': 1}, 'started_ms': "
                "%lld, 'ended_ms': %lld, 'stdout': {'bytes': 7, 'dropped_bytes': 2}, 'stderr': "
                "{'bytes': 0, 'dropped_bytes': 0}, 'evidence': null}",
                outcome, strcmp(outcome, "exited") == 0 ? "0" : "null", (long long)bh_realtime_ms(),
                (long long)bh_realtime_ms());
        fixture_shim_send(shim, frame);
}

void fixture_shim_close(size_t shim)
{
        bh_channel_free(fixture.shims[shim]);
        fixture.shims[shim] = NULL;
        fixture_settle();
}

const char *text_at(const json_t *json, const char *member)
{
        const char *text = json_string_value(json_object_get(json, member));
        return text ? text : "";
}
