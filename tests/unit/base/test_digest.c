/* base/digest: known hashes, and that equal documents have equal digests. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/digest.h"
#include "base/json.h"

static void test_sha256(void **state)
{
        (void)state;
        char hex[BH_SHA256_HEX_SIZE];
        _cleanup_free_ char *million = malloc(1000000);

        assert_non_null(million);
        bh_sha256_hex("", 0, hex);
        assert_string_equal(hex,
                            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
        bh_sha256_hex("abc", 3, hex);
        assert_string_equal(hex,
                            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        memset(million, 'a', 1000000); /* FIPS 180's long example */
        bh_sha256_hex(million, 1000000, hex);
        assert_string_equal(hex,
                            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

static void digest_of(const char *text, char ret[BH_DIGEST_TEXT_SIZE])
{
        _cleanup_json_ json_t *json = NULL;

        assert_int_equal(bh_json_parse(text, strlen(text), &json, NULL), 0);
        bh_json_digest(json, ret);
}

static void test_json_digest(void **state)
{
        (void)state;
        char a[BH_DIGEST_TEXT_SIZE], b[BH_DIGEST_TEXT_SIZE];

        digest_of("{\"b\": [true, null, \"\\u00e9\"], \"a\": 1}", a);
        /* printf '%s' '{"a":1,"b":[true,null,"é"]}' | sha256sum */
        assert_string_equal(
                a, "sha256:9488dd13ca33d3291f5a91a1833dfa164811755ffba538c2b340780f8c31a0cb");
        digest_of("{\"a\":1,\"b\":[true,null,\"\xc3\xa9\"]}", b);
        assert_string_equal(a, b);
        digest_of("{\"a\":1,\"b\":[null,true,\"\xc3\xa9\"]}", b);
        assert_string_not_equal(a, b);
        digest_of("1", a);
        digest_of("\"1\"", b);
        assert_string_not_equal(a, b);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_sha256),
                cmocka_unit_test(test_json_digest),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
