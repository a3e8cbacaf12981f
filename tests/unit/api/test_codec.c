/* api/codec: the payload moves out of the document, its digest is that of what was sent. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "api/codec.h"
#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "policy/request.h"

static void test_payload_moves(void **state)
{
        static const char text[] =
                "{\"stdin\":{\"data\":\"aGk=\",\"encoding\":\"base64\"},\"agent\":\"a\","
                "\"files\":[{\"path\":\"x\",\"data\":\"one\"},{\"path\":\"y\",\"data\":\"\"},"
                "{\"mode\":\"0600\",\"data\":\"two\",\"encoding\":\"utf-8\"}]}";
        struct bh_http_problem problem = {.status = 0};
        struct bh_body body;
        _cleanup_free_ char *wire = NULL;
        _cleanup_json_ json_t *sent = NULL;
        char digest[BH_DIGEST_TEXT_SIZE], bytes[16] = "";

        (void)state;
        assert_int_equal(bh_body_decode(text, strlen(text), 1, &body, &problem), 0);
        assert_int_equal(bh_memfd_check_sealed(body.payload, NULL), 0);
        assert_int_equal(bh_pread_full(body.payload, bytes, sizeof(bytes), 0), 8);
        assert_string_equal(bytes, "onetwohi");
        wire = bh_json_canonical(body.json);
        assert_string_equal(wire, "{\"agent\":\"a\",\"files\":["
                                  "{\"length\":3,\"offset\":0,\"path\":\"x\"},"
                                  "{\"length\":0,\"offset\":3,\"path\":\"y\"},"
                                  "{\"length\":3,\"mode\":\"0600\",\"offset\":3}],"
                                  "\"stdin\":{\"length\":2,\"offset\":6}}");
        assert_int_equal(bh_json_parse(text, strlen(text), &sent, NULL), 0);
        bh_json_digest(sent, digest);
        assert_string_equal(body.digest, digest);
        bh_body_clear(&body);
}

static void test_plain_bodies_stay_as_they_are(void **state)
{
        struct bh_http_problem problem = {.status = 0};
        struct bh_body body;

        (void)state;
        assert_int_equal(bh_body_decode("{\"stdin\":1}", 11, 0, &body, &problem), 0);
        assert_int_equal(body.payload, -1);
        assert_int_equal(json_integer_value(json_object_get(body.json, "stdin")), 1);
        bh_body_clear(&body);
        assert_int_equal(bh_body_decode("{}", 2, 1, &body, &problem), 0);
        assert_int_equal(body.payload, -1);
        bh_body_clear(&body);
}

/* {"stdin":{"data":"xxx…"}} or {"x":"xxx…"}. */
static int status_of_size(const char *before, size_t count, const char *after)
{
        size_t size = strlen(before) + count + strlen(after);
        _cleanup_free_ char *text = bh_alloc(size + 1);
        struct bh_http_problem problem = {.status = 0};
        struct bh_body body;
        int status;

        memset(stpcpy(text, before), 'x', count);
        strcpy(text + strlen(before) + count, after);
        if (bh_body_decode(text, size, 1, &body, &problem) == 0) {
                bh_body_clear(&body);
                return 0;
        }
        status = problem.status;
        bh_http_problem_clear(&problem);
        return status;
}

static void test_limits(void **state)
{
        (void)state;
        assert_int_equal(status_of_size("{\"stdin\":{\"data\":\"", BH_PAYLOAD_MAX, "\"}}"), 0);
        assert_int_equal(status_of_size("{\"stdin\":{\"data\":\"", BH_PAYLOAD_MAX + 1, "\"}}"),
                         413);
        assert_int_equal(status_of_size("{\"x\":\"", BH_DOCUMENT_MAX - 8, "\"}"), 0);
        assert_int_equal(status_of_size("{\"x\":\"", BH_DOCUMENT_MAX, "\"}"), 413);
}

static void test_refusals_name_their_place(void **state)
{
        static const struct {
                const char *text, *pointer;
        } bad[] = {
                {"{\"files\":[{\"data\":\"\"},{\"data\":\"\",\"length\":1}]}", "/files/1/length"},
                {"{\"stdin\":{\"data\":\"a\",\"encoding\":\"base64\"}}", "/stdin/data"},
                {"{\"stdin\":\"text\"}", "/stdin"},
                {"{\"a\":1,\"a\":2}", "/a"},
                {"[]", ""},
        };

        (void)state;
        for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
                struct bh_http_problem problem = {.status = 0};
                struct bh_body body;
                json_t *first;

                assert_int_equal(
                        bh_body_decode(bad[i].text, strlen(bad[i].text), 1, &body, &problem), -1);
                assert_int_equal(problem.status, 400);
                assert_string_equal(problem.code, "invalid_request");
                first = json_array_get(problem.errors, 0);
                assert_string_equal(json_string_value(json_object_get(first, "pointer")),
                                    bad[i].pointer);
                bh_http_problem_clear(&problem);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_payload_moves),
                cmocka_unit_test(test_plain_bodies_stay_as_they_are),
                cmocka_unit_test(test_limits),
                cmocka_unit_test(test_refusals_name_their_place),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
