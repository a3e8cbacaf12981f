/* base/json: what is refused and where, the canonical form, and decoding with places. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"

static void assert_refused(const char *text, size_t size, const char *pointer, const char *problem)
{
        struct bh_error error = {0};
        json_t *json = NULL;

        if (bh_json_parse(text, size, &json, &error) != -1)
                fail_msg("accepted: %s", text);
        assert_null(json);
        assert_int_equal(error.code, BH_ERROR_INVALID);
        if (strcmp(error.subject, pointer) != 0)
                fail_msg("%.40s: at %s, not %s", text, error.subject, pointer);
        if (!strstr(error.message, problem))
                fail_msg("%.40s: \"%s\" has no \"%s\"", text, error.message, problem);
}

static const struct {
        const char *text, *pointer, *problem;
} REFUSED[] = {
        {"", "", "empty"},
        {" \t\r\n", "", "empty"},
        {"{", "", "unexpected end"},
        {"[", "/0", "unexpected end"},
        {"{\"a\"", "/a", "unexpected end"},
        {"{\"a\":", "/a", "unexpected end"},
        {"{\"a\":1", "/a", "unexpected end"},
        {"{\"a\":1,", "/a", "unexpected end"},
        {"[1,", "/1", "unexpected end"},
        {"\"abc", "", "unfinished string"},
        {"{\"abc", "", "unfinished string"},
        {"\"abc\\", "", "invalid escape"},
        {"\"\\u12", "", "invalid \\u escape"},
        {"}", "", "unexpected character"},
        {"]", "", "unexpected character"},
        {",", "", "unexpected character"},
        {"[1}", "/0", "expected ',' or ']'"},
        {"{\"a\":1]", "/a", "expected ',' or '}'"},
        {"[,1]", "/0", "unexpected character"},
        {"[1,]", "/1", "unexpected character"},
        {"[1,,2]", "/1", "unexpected character"},
        {"[1 2]", "/0", "expected ','"},
        {"{,}", "", "member name"},
        {"{\"a\":1,}", "", "member name"},
        {"{a:1}", "", "member name"},
        {"{1:1}", "", "member name"},
        {"{'a':1}", "", "member name"},
        {"{\"a\" 1}", "/a", "expected ':'"},
        {"{\"a\",1}", "/a", "expected ':'"},
        {"{\"a\":1 \"b\":2}", "/a", "expected ','"},
        {"{\"a\":}", "/a", "unexpected character"},
        {"1 2", "", "after the value"},
        {"{} x", "", "after the value"},
        {"{}{}", "", "after the value"},
        {"[]]", "", "after the value"},
        {"null null", "", "after the value"},
        {"nul", "", "unknown word"},
        {"nulll", "", "unknown word"},
        {"True", "", "unknown word"},
        {"[NaN]", "/0", "unknown word"},
        {"[-Infinity]", "/0", "invalid number"},
        {"// c\n1", "", "unexpected character"},
        {"/**/1", "", "unexpected character"},
        {"\xef\xbb\xbf{}", "", "unexpected character"},
        {"-", "", "invalid number"},
        {"+1", "", "unexpected character"},
        {".5", "", "unexpected character"},
        {"01", "", "invalid number"},
        {"-01", "", "invalid number"},
        {"1.", "", "invalid number"},
        {"1.e3", "", "invalid number"},
        {"1e", "", "invalid number"},
        {"1e+", "", "invalid number"},
        {"0x10", "", "invalid number"},
        {"1_000", "", "invalid number"},
        {"1.2.3", "", "invalid number"},
        {"--1", "", "invalid number"},
        {"1-1", "", "invalid number"},
        {"[\"a\", 1e400]", "/1", "does not fit"},
        {"{\"n\":-1e400}", "/n", "does not fit"},
        {"{\"a\":{\"n\":9223372036854775808}}", "/a/n", "does not fit"},
        {"[-9223372036854775809]", "/0", "does not fit"},
        {"[0, 123456789012345678901234567890 , 1]", "/1", "does not fit"},
        {"\"\x01\"", "", "control character"},
        {"\"a\nb\"", "", "control character"},
        {"{\"a\tb\":1}", "", "control character"},
        {"\"\\x\"", "", "invalid escape"},
        {"\"\\'\"", "", "invalid escape"},
        {"\"\\U0041\"", "", "invalid escape"},
        {"\"\\u00g0\"", "", "invalid \\u escape"},
        {"\"\\u 123\"", "", "invalid \\u escape"},
        {"{\"a\":[\"\\u0000\"]}", "/a/0", "NUL"},
        {"{\"a\\u0000b\":1}", "", "NUL"},
        {"[\"\\ud800\"]", "/0", "lone surrogate"},
        {"[\"\\ud800x\"]", "/0", "lone surrogate"},
        {"[\"\\ud800\\n12345\"]", "/0", "lone surrogate"},
        {"[\"\\ud800\\u0041\"]", "/0", "lone surrogate"},
        {"[\"\\ud800\\ud800\"]", "/0", "lone surrogate"},
        {"[\"\\ud800\\ue000\"]", "/0", "lone surrogate"},
        {"[\"\\udc00\"]", "/0", "lone surrogate"},
        {"[\"\\udfff\\ud800\"]", "/0", "lone surrogate"},
        {"{\"\\ud800\":1}", "", "lone surrogate"},
        {"[\"\xff\"]", "/0", "UTF-8"},
        {"[\"\xc0\xaf\"]", "/0", "UTF-8"},
        {"[\"\xed\xa0\x80\"]", "/0", "UTF-8"},
        {"[\"\xf4\x90\x80\x80\"]", "/0", "UTF-8"},
        {"[\"\xc3\"]", "/0", "UTF-8"},
        {"{\"\x80\":1}", "", "UTF-8"},
        {"{\"a\":1,\"a\":1}", "/a", "duplicate key"},
        {"{\"a\":1,\"\\u0061\":1}", "/a", "duplicate key"},
        {"{\"a\" : 1 , \"b\" : 2 , \"a\" : 3}", "/a", "duplicate key"},
        {"{\"\":1,\"\":1}", "/", "duplicate key"},
        {"[{}, {\"x\":{\"a\":[],\"b\":{},\"a\":1}}]", "/1/x/a", "duplicate key"},
        {"{\"k\":[{\"a/b\":0,\"a~\":0,\"a\\/b\":0}]}", "/k/0/a~1b", "duplicate key"},
        {"{\"a~b\":1,\"a~b\":1}", "/a~0b", "duplicate key"},
        {"{\"\xc3\xa9\":1,\"\\u00e9\":1}", "/\xc3\xa9", "duplicate key"},
        {"{\"\\ud83d\\ude00\":1,\"\xf0\x9f\x98\x80\":1}", "/\xf0\x9f\x98\x80", "duplicate key"},
        {"{\"a\\n\":1,\"a\\u000a\":1}", "/a\n", "duplicate key"},
        {"[[[1],[2,{\"k\":tru}]]]", "/0/1/1/k", "unknown word"},
        {"{\"a\":{\"b\":1},\"c\":?}", "/c", "unexpected character"},
        {"[[0,1,2],[0],x]", "/2", "unknown word"},
        {"{\"a\":[1,2],\"b\"}", "/b", "expected ':'"},
};

static void test_refused(void **state)
{
        (void)state;
        for (size_t i = 0; i < sizeof(REFUSED) / sizeof(REFUSED[0]); i++)
                assert_refused(REFUSED[i].text, strlen(REFUSED[i].text), REFUSED[i].pointer,
                               REFUSED[i].problem);
}

static void test_nul_bytes(void **state)
{
        (void)state;
        assert_refused("{}\0", 3, "", "after the value");
        assert_refused("\0", 1, "", "unexpected character");
        assert_refused("[\"a\0b\"]", 7, "/0", "NUL");
        assert_refused("{\"a\0b\":1}", 9, "", "NUL");
        assert_refused("[1\0]", 4, "/0", "expected ','");
        assert_refused(NULL, 0, "", "empty");
}

/* The text is not read past its size. */
static void test_size_is_obeyed(void **state)
{
        (void)state;
        static const char *const texts[] = {"\"a\\u0041\"", "[1.5e10]", "{\"key\":true}",
                                            "\"\\ud83d\\ude00\"", "\"\xf0\x9f\x98\x80\""};

        for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
                for (size_t size = 0; size < strlen(texts[i]); size++) {
                        /* On the heap, so that AddressSanitizer sees the end. */
                        _cleanup_free_ char *copy = malloc(size ? size : 1);
                        struct bh_error error = {0};
                        json_t *json = NULL;

                        assert_non_null(copy);
                        memcpy(copy, texts[i], size);
                        assert_int_equal(bh_json_parse(copy, size, &json, &error), -1);
                        assert_true(error.message[0] != '\0');
                }
        }
}

/* Accepted, and what the canonical form makes of it. */
static void test_canonical(void **state)
{
        (void)state;
        static const struct {
                const char *text, *canonical;
        } cases[] = {
                {"null", "null"},
                {" true ", "true"},
                {"\"\"", "\"\""},
                {"[]", "[]"},
                {"{ }", "{}"},
                {"-0", "0"},
                {"-0.0", "-0.0"},
                {"1.0", "1.0"},
                {"1e2", "100.0"},
                {"1E+2", "100.0"},
                {"1e-400", "0.0"},
                {"9223372036854775807", "9223372036854775807"},
                {"-9223372036854775808", "-9223372036854775808"},
                {"\t[ 1 ,\n2 ,\r3 ]", "[1,2,3]"},
                {"{\"b\":1,\"a\":{\"d\":1,\"c\":2}}", "{\"a\":{\"c\":2,\"d\":1},\"b\":1}"},
                {"{\"aa\":1,\"a\":2,\"B\":3,\"\":4}", "{\"\":4,\"B\":3,\"a\":2,\"aa\":1}"},
                /* By code point: U+FFFF before U+10000, unlike UTF-16. */
                {"{\"\\ud800\\udc00\":1,\"\\uffff\":2}",
                 "{\"\xef\xbf\xbf\":2,\"\xf0\x90\x80\x80\":1}"},
                {"\"\\u0041\\/\\\\\\\"\\b\\f\\n\\r\\t\"", "\"A/\\\\\\\"\\b\\f\\n\\r\\t\""},
                {"\"\\u001f\\u007f\\u00e9\"", "\"\\u001F\x7f\xc3\xa9\""},
                {"\"\\uD83D\\uDE00\"", "\"\xf0\x9f\x98\x80\""},
                {"{\"a\":{\"a\":{\"a\":1}},\"b\":{\"a\":1}}",
                 "{\"a\":{\"a\":{\"a\":1}},\"b\":{\"a\":1}}"},
        };

        for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
                _cleanup_json_ json_t *json = NULL;
                _cleanup_free_ char *canonical = NULL;
                struct bh_error error = {0};

                if (bh_json_parse(cases[i].text, strlen(cases[i].text), &json, &error) < 0)
                        fail_msg("%s: %s", cases[i].text, error.message);
                canonical = bh_json_canonical(json);
                assert_string_equal(canonical, cases[i].canonical);
        }
}

static void test_text_keeps_order(void **state)
{
        (void)state;
        _cleanup_json_ json_t *json = NULL;
        _cleanup_free_ char *text = NULL;
        const char *input = "{\"b\":1,\"a\":[1,{\"z\":0,\"y\":0}]}";

        assert_int_equal(bh_json_parse(input, strlen(input), &json, NULL), 0);
        text = bh_json_text(json);
        assert_string_equal(text, input);
}

/* depth containers of one kind around a number. */
static char *nested(size_t depth, const char *open, const char *close)
{
        size_t open_length = strlen(open), close_length = strlen(close);
        char *text = bh_alloc(depth * (open_length + close_length) + 2);

        for (size_t i = 0; i < depth; i++)
                memcpy(text + i * open_length, open, open_length);
        text[depth * open_length] = '1';
        for (size_t i = 0; i < depth; i++)
                memcpy(text + depth * open_length + 1 + i * close_length, close, close_length);
        return text;
}

static void test_depth(void **state)
{
        (void)state;
        static const struct {
                const char *open, *close, *step;
        } kinds[] = {{"[", "]", "/0"}, {"{\"k\":", "}", "/k"}, {" [ ", " ] ", "/0"}};

        for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
                _cleanup_free_ char *most =
                        nested(BH_JSON_DEPTH_MAX, kinds[i].open, kinds[i].close);
                _cleanup_free_ char *over =
                        nested(BH_JSON_DEPTH_MAX + 1, kinds[i].open, kinds[i].close);
                _cleanup_json_ json_t *json = NULL;
                char pointer[2 * BH_JSON_DEPTH_MAX + 1] = "";

                assert_int_equal(bh_json_parse(most, strlen(most), &json, NULL), 0);
                for (size_t step = 0; step < BH_JSON_DEPTH_MAX; step++)
                        memcpy(pointer + 2 * step, kinds[i].step, 3);
                assert_refused(over, strlen(over), pointer, "nested too deep");
        }
}

/* No recursion, and no more time than the input is long. */
static void test_absurd_depth(void **state)
{
        (void)state;
        static const char *const opens[] = {"[", "{\"\":", "[{\"a\":"};
        int64_t before = bh_monotonic_us();

        for (size_t i = 0; i < sizeof(opens) / sizeof(opens[0]); i++) {
                _cleanup_free_ char *text = nested(100000, opens[i], "");
                struct bh_error error = {0};
                json_t *json = NULL;

                assert_int_equal(bh_json_parse(text, strlen(text), &json, &error), -1);
                assert_non_null(strstr(error.message, "nested too deep"));
        }
        assert_true(bh_monotonic_us() - before < 1000000);
}

static void test_large_input_is_not_echoed(void **state)
{
        (void)state;
        size_t size = 1 << 20;
        _cleanup_free_ char *text = bh_alloc(size + 1);
        struct bh_error error = {0};
        json_t *json = NULL;

        memset(text, 'x', size);
        assert_int_equal(bh_json_parse(text, size, &json, &error), -1);
        assert_true(strlen(error.message) < 100);
        memset(text, '9', size);
        assert_int_equal(bh_json_parse(text, size, &json, &error), -1);
        assert_true(strlen(error.message) < 100);
        assert_non_null(strstr(error.message, "does not fit"));
}

static void test_long_pointer_is_cut_whole(void **state)
{
        (void)state;
        struct bh_error error = {0};
        char key[600];
        _cleanup_free_ char *text = NULL, *slashes = NULL;
        json_t *json = NULL;
        size_t length;

        /* Two-byte characters: 255 bytes of room, one is the '/', so 127 fit. */
        for (size_t i = 0; i < 598; i += 2)
                memcpy(key + i, "\xc3\xa9", 3);
        text = bh_format("{\"%s\":x}", key);
        assert_int_equal(bh_json_parse(text, strlen(text), &json, &error), -1);
        assert_int_equal(strlen(error.subject), 1 + 2 * 127);
        assert_memory_equal(error.subject + 253, "\xc3\xa9", 3);
        /* "~1" is not cut in two either, and nothing follows the gap. */
        memset(key, '/', 254);
        key[254] = '\0';
        slashes = bh_format("{\"%s\":{\"b\":x}}", key);
        assert_int_equal(bh_json_parse(slashes, strlen(slashes), &json, &error), -1);
        length = strlen(error.subject);
        assert_int_equal(length, 1 + 2 * 127);
        assert_memory_equal(error.subject + length - 2, "~1", 3);
}

static void test_null_error(void **state)
{
        (void)state;
        json_t *json = NULL;

        assert_int_equal(bh_json_parse("[", 1, &json, NULL), -1);
        assert_int_equal(bh_json_parse("{\"a\":1,\"a\":1}", 13, &json, NULL), -1);
        assert_null(json);
}

/* ---- Decoding ---- */

static json_t *document; /* of the test that runs */
static struct bh_error failure;

static struct bh_json_at parse(const char *text)
{
        json_decref(document);
        document = NULL;
        memset(&failure, 0, sizeof(failure));
        assert_int_equal(bh_json_parse(text, strlen(text), &document, NULL), 0);
        return BH_JSON_ROOT(document);
}

static int drop_document(void **state)
{
        (void)state;
        json_decref(document);
        document = NULL;
        return 0;
}

#define assert_failure(pointer, text)                             \
        do {                                                      \
                assert_int_equal(failure.code, BH_ERROR_INVALID); \
                assert_string_equal(failure.subject, pointer);    \
                assert_string_equal(failure.message, text);       \
        } while (0)

static void test_pointer(void **state)
{
        (void)state;
        struct bh_json_at root = parse("{\"a/~b\":[0,{\"\":[1]}]}"), a, element, empty, last;
        char buffer[64];

        assert_true(bh_json_member(&root, "a/~b", &a));
        element = bh_json_element(&a, 1);
        assert_true(bh_json_member(&element, "", &empty));
        last = bh_json_element(&empty, 0);
        bh_json_pointer(&root, buffer, sizeof(buffer));
        assert_string_equal(buffer, "");
        bh_json_pointer(&last, buffer, sizeof(buffer));
        assert_string_equal(buffer, "/a~1~0b/1//0");
        assert_int_equal(json_integer_value(last.value), 1);
        /* Too small: whole characters, never past the end. */
        for (size_t size = 1; size <= 13; size++) {
                memset(buffer, '#', sizeof(buffer));
                bh_json_pointer(&last, buffer, size);
                assert_true(strlen(buffer) < size);
                assert_memory_equal(buffer, "/a~1~0b/1//0", strlen(buffer));
                assert_int_equal(buffer[size], '#');
        }
        bh_json_pointer(&last, buffer, 4);
        assert_string_equal(buffer, "/a");
        buffer[0] = '#';
        bh_json_pointer(&last, buffer, 0);
        assert_int_equal(buffer[0], '#');
}

static void test_object(void **state)
{
        (void)state;
        static const char *const members[] = {"a", "b", NULL}, *const none[] = {NULL};
        struct bh_json_at root = parse("{\"a\":1,\"b\":2}");

        assert_int_equal(bh_json_object(&root, members, &failure), 0);
        root = parse("{}");
        assert_int_equal(bh_json_object(&root, members, &failure), 0);
        assert_int_equal(bh_json_object(&root, none, &failure), 0);
        root = parse("{\"a\":1,\"A\":2}");
        assert_int_equal(bh_json_object(&root, members, &failure), -1);
        assert_failure("/A", "unknown member");
        root = parse("[]");
        assert_int_equal(bh_json_object(&root, members, &failure), -1);
        assert_failure("", "must be an object");
        root = parse("null");
        assert_int_equal(bh_json_object(&root, members, &failure), -1);
}

static void test_member(void **state)
{
        (void)state;
        struct bh_json_at root = parse("{\"a\":null}"), at = {.index = 5};

        assert_true(bh_json_member(&root, "a", &at));
        assert_true(json_is_null(at.value));
        assert_false(bh_json_member(&root, "b", &at));
        assert_string_equal(at.key, "a");
        assert_int_equal(bh_json_require(&root, "a", &at, &failure), 0);
        assert_int_equal(bh_json_require(&root, "b", &at, &failure), -1);
        assert_failure("/b", "is required");
        root = parse("[1]");
        assert_false(bh_json_member(&root, "0", &at));
}

static void test_array(void **state)
{
        (void)state;
        struct bh_json_at root = parse("[1,2,3]"), beyond;
        size_t count = 99;

        assert_int_equal(bh_json_array(&root, 3, 3, &count, &failure), 0);
        assert_int_equal(count, 3);
        count = 99;
        assert_int_equal(bh_json_array(&root, 0, 2, &count, &failure), -1);
        assert_failure("", "must have at most 2 elements");
        assert_int_equal(bh_json_array(&root, 4, 9, &count, &failure), -1);
        assert_failure("", "must have 4 to 9 elements");
        assert_int_equal(bh_json_array(&root, 4, SIZE_MAX, &count, &failure), -1);
        assert_failure("", "must have at least 4 elements");
        assert_int_equal(count, 99);
        beyond = bh_json_element(&root, 3);
        assert_null(beyond.value);
        assert_int_equal(bh_json_array(&beyond, 0, 9, &count, &failure), -1);
        assert_failure("/3", "must be an array");
        root = parse("{}");
        assert_int_equal(bh_json_array(&root, 0, 9, &count, &failure), -1);
        assert_failure("", "must be an array");
}

static void test_string(void **state)
{
        (void)state;
        struct bh_json_at root = parse("{\"s\":\"\\u00e9a\",\"n\":1}"), at;
        const char *text = "before";

        assert_true(bh_json_member(&root, "s", &at));
        assert_int_equal(bh_json_string(&at, 3, 3, &text, &failure), 0);
        assert_string_equal(text, "\xc3\xa9"
                                  "a");
        text = "before";
        assert_int_equal(bh_json_string(&at, 0, 2, &text, &failure), -1);
        assert_failure("/s", "must be at most 2 bytes long");
        assert_int_equal(bh_json_string(&at, 4, 64, &text, &failure), -1);
        assert_failure("/s", "must be 4 to 64 bytes long");
        assert_int_equal(bh_json_string(&at, 26, 26, &text, &failure), -1);
        assert_failure("/s", "must be 26 bytes long");
        assert_true(bh_json_member(&root, "n", &at));
        assert_int_equal(bh_json_string(&at, 0, 9, &text, &failure), -1);
        assert_failure("/n", "must be a string");
        assert_string_equal(text, "before");
}

static void test_integer(void **state)
{
        (void)state;
        static const char *const bad[] = {"0",      "101",  "50.0", "5e1",
                                          "\"50\"", "null", "true", "9223372036854775807"};
        struct bh_json_at root = parse("1");
        int64_t value = 99;

        assert_int_equal(bh_json_integer(&root, 1, 100, &value, &failure), 0);
        assert_int_equal(value, 1);
        root = parse("100");
        assert_int_equal(bh_json_integer(&root, 1, 100, &value, &failure), 0);
        assert_int_equal(value, 100);
        root = parse("-9223372036854775808");
        assert_int_equal(bh_json_integer(&root, INT64_MIN, INT64_MAX, &value, &failure), 0);
        assert_true(value == INT64_MIN);
        value = 99;
        for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
                root = parse(bad[i]);
                assert_int_equal(bh_json_integer(&root, 1, 100, &value, &failure), -1);
                assert_failure("", "must be an integer from 1 to 100");
        }
        /* A missing value is no zero. */
        root = (struct bh_json_at){.value = NULL};
        assert_int_equal(bh_json_integer(&root, 0, 100, &value, &failure), -1);
        assert_int_equal(value, 99);
}

static void test_boolean(void **state)
{
        (void)state;
        static const char *const bad[] = {"0", "1", "null", "\"true\"", "[]"};
        struct bh_json_at root = parse("true");
        bool value = false;

        assert_int_equal(bh_json_boolean(&root, &value, &failure), 0);
        assert_true(value);
        root = parse("false");
        assert_int_equal(bh_json_boolean(&root, &value, &failure), 0);
        assert_false(value);
        for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
                root = parse(bad[i]);
                assert_int_equal(bh_json_boolean(&root, &value, &failure), -1);
                assert_failure("", "must be true or false");
        }
}

static void test_choice(void **state)
{
        (void)state;
        static const char *const names[] = {"auto", "container", "vm", NULL};
        static const char *const bad[] = {"\"\"", "\"VM\"", "\"vm \"", "\"v\"", "1", "null"};
        struct bh_json_at root = parse("\"vm\"");
        int value = 99;

        assert_int_equal(bh_json_choice(&root, names, &value, &failure), 0);
        assert_int_equal(value, 2);
        value = 99;
        for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
                root = parse(bad[i]);
                assert_int_equal(bh_json_choice(&root, names, &value, &failure), -1);
                assert_failure("", "must be one of auto, container, vm");
        }
        assert_int_equal(value, 99);
}

static void test_fail(void **state)
{
        (void)state;
        struct bh_json_at root = parse("{\"a\":[1]}"), a, element;

        assert_true(bh_json_member(&root, "a", &a));
        element = bh_json_element(&a, 0);
        assert_int_equal(bh_json_fail(&element, &failure, "is %d%%", 5), -1);
        assert_failure("/a/0", "is 5%");
        assert_int_equal(bh_json_fail(&element, NULL, "x"), -1);
}

#define decode_test(function) cmocka_unit_test_teardown(function, drop_document)

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_refused),
                cmocka_unit_test(test_nul_bytes),
                cmocka_unit_test(test_size_is_obeyed),
                cmocka_unit_test(test_canonical),
                cmocka_unit_test(test_text_keeps_order),
                cmocka_unit_test(test_depth),
                cmocka_unit_test(test_absurd_depth),
                cmocka_unit_test(test_large_input_is_not_echoed),
                cmocka_unit_test(test_long_pointer_is_cut_whole),
                cmocka_unit_test(test_null_error),
                decode_test(test_pointer),
                decode_test(test_object),
                decode_test(test_member),
                decode_test(test_array),
                decode_test(test_string),
                decode_test(test_integer),
                decode_test(test_boolean),
                decode_test(test_choice),
                decode_test(test_fail),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
