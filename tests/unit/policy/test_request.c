/* Execution requests: shapes, places in the boundary, files, odd values. */
#include "support.h"

#include "policy/request.h"

static const struct bh_limit_policy limit_policy = {
        .standard = {{100, 100, 100, 100, 100, 100}},
        .max = {{1000, 1000, 1000, 1000, 1000, 1000}},
};

static int decode(const char *text, struct bh_request **ret, struct bh_error *error)
{
        _cleanup_json_ json_t *document = parse(text);

        return bh_request_decode(&BH_JSON_ROOT(document), &limit_policy, 100, ret, error);
}

static struct bh_request *request_of(const char *text)
{
        struct bh_request *request = NULL;
        struct bh_error error = {0};

        if (decode(text, &request, &error) < 0)
                fail_msg("%s: %s: %s", text, error.subject, error.message);
        return request;
}

#define REQUEST(members) "{'agent': 'a1', 'argv': ['true'], " members "}"
#define FILE_AT(path)    REQUEST("'files': [{'path': '" path "', 'offset': 0, 'length': 1}]")
#define FILE_MODE(mode) \
        REQUEST("'files': [{'path': 'f', 'offset': 0, 'length': 1, 'mode': " mode "}]")

static const struct refusal refusals[] = {
        {"null", "", ""},
        {"{}", "/agent", ""},
        {"{'agent': 'a1'}", "/argv", ""},
        {"{'agent': '../x', 'argv': ['true']}", "/agent", ""},
        {"{'agent': '', 'argv': ['true']}", "/agent", ""},
        {"{'agent': 'a1', 'argv': []}", "/argv", ""},
        {"{'agent': 'a1', 'argv': 'true'}", "/argv", ""},
        {"{'agent': 'a1', 'argv': ['']}", "/argv/0", ""},
        {"{'agent': 'a1', 'argv': ['true', 7]}", "/argv/1", ""},
        {"{'agent': 'a1', 'argv': ['true', null]}", "/argv/1", ""},
        {REQUEST("'timeout_secs': 2"), "/timeout_secs", ""},
        {REQUEST("'isolaton': 'vm'"), "/isolaton", ""},
        /* the working directory (A02) */
        {REQUEST("'cwd': ''"), "/cwd", ""},
        {REQUEST("'cwd': null"), "/cwd", ""},
        {REQUEST("'cwd': 'workspace'"), "/cwd", ""},
        {REQUEST("'cwd': '/workspace/'"), "/cwd", ""},
        {REQUEST("'cwd': '/workspace/../etc'"), "/cwd", ""},
        {REQUEST("'cwd': '/workspace/./x'"), "/cwd", ""},
        {REQUEST("'cwd': '//proc'"), "/cwd", ""},
        {REQUEST("'cwd': '/proc'"), "/cwd", ""},
        {REQUEST("'cwd': '/proc/self/fd/7'"), "/cwd", ""},
        {REQUEST("'cwd': '/proc/self/fd/20'"), "/cwd", ""},
        {REQUEST("'cwd': '/sys/fs/cgroup'"), "/cwd", ""},
        {REQUEST("'cwd': '/dev/fd/3'"), "/cwd", ""},
        {REQUEST("'cwd': '/a\\nb'"), "/cwd", ""},
        {REQUEST("'env': []"), "/env", ""},
        {REQUEST("'env': {'LD_PRELOAD': 'x'}"), "/env/LD_PRELOAD", ""},
        {REQUEST("'env': {'A': 1}"), "/env/A", ""},
        {REQUEST("'image': '../../etc'"), "/image", ""},
        {REQUEST("'image': ''"), "/image", ""},
        {REQUEST("'workspace': 'W1'"), "/workspace", ""},
        {REQUEST("'workspace': null"), "/workspace", ""},
        {REQUEST("'min_tier': 'VM '"), "/min_tier", ""},
        {REQUEST("'min_tier': 3"), "/min_tier", ""},
        {REQUEST("'labels': {'a': 1}"), "/labels/a", ""},
        {REQUEST("'limits': {'wall_ms': 1001}"), "/limits/wall_ms", ""},
        {REQUEST("'limits': {'timeout': 1}"), "/limits/timeout", ""},
        {REQUEST("'limits': null"), "/limits", ""},
        /* stdin and files in the payload */
        {REQUEST("'stdin': 'text'"), "/stdin", ""},
        {REQUEST("'stdin': {}"), "/stdin/offset", ""},
        {REQUEST("'stdin': {'offset': 0}"), "/stdin/length", ""},
        {REQUEST("'stdin': {'offset': 0, 'length': 101}"), "/stdin/length", ""},
        {REQUEST("'stdin': {'offset': 101, 'length': 0}"), "/stdin/offset", ""},
        {REQUEST("'stdin': {'offset': 60, 'length': 41}"), "/stdin/length", ""},
        {REQUEST("'stdin': {'offset': -1, 'length': 1}"), "/stdin/offset", ""},
        {REQUEST("'stdin': {'offset': 9223372036854775807, 'length': 1}"), "/stdin/offset", ""},
        {REQUEST("'stdin': {'data': 'x', 'encoding': 'utf-8'}"), "/stdin/data", ""},
        {REQUEST("'files': {}"), "/files", ""},
        {REQUEST("'files': [{}]"), "/files/0/path", ""},
        {REQUEST("'files': [{'path': 'f'}]"), "/files/0/offset", ""},
        {REQUEST("'files': [{'path': 'f', 'offset': 0, 'length': 1, 'owner': 0}]"),
         "/files/0/owner", ""},
        {FILE_AT(""), "/files/0/path", ""},
        {FILE_AT("/f"), "/files/0/path", ""},
        {FILE_AT("."), "/files/0/path", ""},
        {FILE_AT(".."), "/files/0/path", ""},
        {FILE_AT("../f"), "/files/0/path", ""},
        {FILE_AT("a/../../f"), "/files/0/path", ""},
        {FILE_AT("a//f"), "/files/0/path", ""},
        {FILE_AT("a/"), "/files/0/path", ""},
        {FILE_AT("a\\nb"), "/files/0/path", ""},
        {FILE_MODE("'4755'"), "/files/0/mode", ""},
        {FILE_MODE("'2755'"), "/files/0/mode", ""},
        {FILE_MODE("'1777'"), "/files/0/mode", ""},
        {FILE_MODE("'0888'"), "/files/0/mode", ""},
        {FILE_MODE("'00644'"), "/files/0/mode", ""},
        {FILE_MODE("'44'"), "/files/0/mode", ""},
        {FILE_MODE("'-644'"), "/files/0/mode", ""},
        {FILE_MODE("'u+x'"), "/files/0/mode", ""},
        {FILE_MODE("420"), "/files/0/mode", ""},
        {REQUEST("'files': [{'path': 'f', 'offset': 0, 'length': 1}, {'path': 'f', 'offset': 0,"
                 " 'length': 1}]"),
         "/files/1/path", ""},
        {REQUEST("'files': [{'path': 'a', 'offset': 0, 'length': 1}, {'path': 'a-b', 'offset': 0,"
                 " 'length': 1}, {'path': 'a/b/c', 'offset': 0, 'length': 1}]"),
         "/files/2/path", ""},
        {REQUEST("'files': [{'path': 'a/b', 'offset': 0, 'length': 1}, {'path': 'a', 'offset': 0,"
                 " 'length': 1}]"),
         "/files/0/path", ""},
};

static void test_refusals(void **state)
{
        (void)state;
        for (size_t i = 0; i < COUNT(refusals); i++) {
                struct bh_request *request = NULL;
                struct bh_error error = {0};

                assert_refused(&refusals[i], decode(refusals[i].document, &request, &error),
                               &error);
                assert_null(request);
        }
}

static void test_defaults(void **state)
{
        struct bh_request *request = request_of("{'agent': 'a1', 'argv': ['true', '']}");

        (void)state;
        assert_string_equal(request->agent, "a1");
        assert_int_equal(request->argc, 2);
        assert_string_equal(request->argv[0], "true");
        assert_string_equal(request->argv[1], "");
        assert_null(request->argv[2]);
        assert_string_equal(request->cwd, "/workspace");
        assert_string_equal(request->image, "host");
        assert_null(request->workspace);
        assert_int_equal(json_object_size(request->environment), 0);
        assert_int_equal(json_object_size(request->labels), 0);
        assert_int_equal(request->file_count, 0);
        assert_false(request->has_stdin);
        assert_false(request->has_min_tier);
        assert_int_equal(request->limits.value[BH_LIMIT_PIDS], 100);
        bh_request_free(request);
}

static void test_whole(void **state)
{
        struct bh_request *request = request_of(
                "{'agent': 'a1', 'argv': ['python3', 'main.py'], 'cwd': '/', 'stdin': {'offset': 0,"
                " 'length': 100}, 'env': {'K': 'V'}, 'image': 'debian-12', 'workspace': 'w1',"
                " 'files': [{'path': 'main.py', 'offset': 10, 'length': 90}, {'path':"
                " 'bin/run.sh', 'offset': 100, 'length': 0, 'mode': '0755'}, {'path': '--help',"
                " 'offset': 1, 'length': 1, 'mode': '000'}, {'path': '..a/b', 'offset': 1,"
                " 'length': 1}], 'limits': {'wall_ms': 1000}, 'min_tier': 'container', 'labels':"
                " {'run': '42'}}");

        (void)state;
        assert_string_equal(request->cwd, "/");
        assert_true(request->has_stdin);
        assert_int_equal(request->stdin_length, 100);
        assert_string_equal(request->workspace, "w1");
        assert_string_equal(request->image, "debian-12");
        assert_int_equal(request->file_count, 4);
        assert_int_equal(request->files[0].mode, 0644);
        assert_int_equal(request->files[0].offset, 10);
        assert_int_equal(request->files[0].length, 90);
        assert_int_equal(request->files[1].mode, 0755);
        assert_int_equal(request->files[2].mode, 0);
        assert_int_equal(request->limits.value[BH_LIMIT_WALL_MS], 1000);
        assert_true(request->has_min_tier);
        assert_int_equal(request->min_tier, BH_TIER_CONTAINER);
        bh_request_free(request);
}

/* Exactly what fits, and one more. */
static void test_argv_bounds(void **state)
{
        _cleanup_json_ json_t *many = parse("{'agent': 'a1', 'argv': []}");
        _cleanup_json_ json_t *big = parse("{'agent': 'a1', 'argv': ['x']}");
        json_t *argv = json_object_get(many, "argv");
        struct bh_request *request = NULL;
        struct bh_error error = {0};

        (void)state;
        for (int i = 0; i < BH_ARGV_MAX; i++)
                json_array_append_new(argv, json_string("x"));
        assert_int_equal(bh_request_decode(&BH_JSON_ROOT(many), &limit_policy, 0, &request, &error),
                         0);
        bh_request_free(request);
        json_array_append_new(argv, json_string("x"));
        assert_int_equal(bh_request_decode(&BH_JSON_ROOT(many), &limit_policy, 0, &request, &error),
                         -1);
        assert_string_equal(error.subject, "/argv");

        _cleanup_free_ char *text = bh_alloc(BH_ARGV_BYTES_MAX);
        memset(text, 'y', BH_ARGV_BYTES_MAX - 3);
        json_array_append_new(json_object_get(big, "argv"), json_string(text));
        assert_int_equal(bh_request_decode(&BH_JSON_ROOT(big), &limit_policy, 0, &request, &error),
                         0);
        bh_request_free(request);
        text[BH_ARGV_BYTES_MAX - 3] = 'y';
        json_array_set_new(json_object_get(big, "argv"), 1, json_string(text));
        assert_int_equal(bh_request_decode(&BH_JSON_ROOT(big), &limit_policy, 0, &request, &error),
                         -1);
        assert_string_equal(error.subject, "/argv");
}

static void test_relative_paths(void **state)
{
        char name[300], path[5000];

        (void)state;
        assert_true(bh_relative_path_valid("a/b.c/--d"));
        assert_true(bh_relative_path_valid("...") && bh_relative_path_valid(".a"));
        memset(name, 'n', sizeof(name));
        name[255] = '\0';
        assert_true(bh_relative_path_valid(name));
        name[255] = 'n';
        name[256] = '\0';
        assert_false(bh_relative_path_valid(name));
        for (size_t i = 0; i < sizeof(path); i++)
                path[i] = i % 2 ? '/' : 'p';
        path[4095] = '\0';
        assert_true(bh_relative_path_valid(path));
        path[4094] = '\0'; /* now it ends in '/' */
        assert_false(bh_relative_path_valid(path));
        path[4093] = path[4094] = path[4095] = 'p';
        path[4096] = '\0';
        assert_false(bh_relative_path_valid(path));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_refusals),       cmocka_unit_test(test_defaults),
                cmocka_unit_test(test_whole),          cmocka_unit_test(test_argv_bounds),
                cmocka_unit_test(test_relative_paths),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
