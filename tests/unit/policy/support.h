/* What the policy tests share: documents from text, and how a decoding failed. Single quotes
 * stand for double quotes in documents, so that they read in C. */
#ifndef BULKHEAD_TESTS_POLICY_SUPPORT_H
#define BULKHEAD_TESTS_POLICY_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/json.h"

static inline json_t *parse(const char *text)
{
        _cleanup_free_ char *quoted = bh_strdup(text);
        struct bh_error error = {0};
        json_t *json = NULL;

        for (char *p = quoted; *p; p++)
                if (*p == '\'')
                        *p = '"';
        if (bh_json_parse(quoted, strlen(quoted), &json, &error) < 0)
                fail_msg("the test's own document: %s: %s", error.message, text);
        return json;
}

static inline void assert_json(json_t *actual, const char *expected)
{
        _cleanup_json_ json_t *want = parse(expected);
        _cleanup_free_ char *actual_text = bh_json_canonical(actual);
        _cleanup_free_ char *want_text = bh_json_canonical(want);

        assert_string_equal(actual_text, want_text);
}

/* One address with a port, of either family. */
union address {
        struct sockaddr any;
        struct sockaddr_in in;
        struct sockaddr_in6 in6;
};

static inline union address address_of(const char *text, uint16_t port)
{
        union address address = {0};

        if (strchr(text, ':')) {
                address.in6.sin6_family = AF_INET6;
                address.in6.sin6_port = htons(port);
                assert_int_equal(inet_pton(AF_INET6, text, &address.in6.sin6_addr), 1);
        } else {
                address.in.sin_family = AF_INET;
                address.in.sin_port = htons(port);
                assert_int_equal(inet_pton(AF_INET, text, &address.in.sin_addr), 1);
        }
        return address;
}

/* A document that must be refused: where, and with which code for programs ("" is a wrong
 * shape, else the reason of a refusal). */
struct refusal {
        const char *document, *pointer, *reason;
};

static inline void assert_refused(const struct refusal *refusal, int result,
                                  const struct bh_error *error)
{
        if (result == 0)
                fail_msg("accepted: %s", refusal->document);
        if (strcmp(error->subject, refusal->pointer) != 0 ||
            strcmp(error->reason, refusal->reason) != 0)
                fail_msg("%s: refused at '%s' (%s: %s), not at '%s' (%s)", refusal->document,
                         error->subject, error->reason, error->message, refusal->pointer,
                         refusal->reason);
        assert_int_equal(error->code, *refusal->reason ? BH_ERROR_REFUSED : BH_ERROR_INVALID);
        assert_string_not_equal(error->message, "");
}

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

#endif
