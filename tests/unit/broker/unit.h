/* What every test program of this folder includes, in the order that cmocka asks for. */
#ifndef BULKHEAD_TESTS_UNIT_BROKER_UNIT_H
#define BULKHEAD_TESTS_UNIT_BROKER_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/json.h"

/* Parses a document that the test itself wrote, with ' for ". */
static inline json_t *quoted(const char *text)
{
        char *copy = strdup(text);
        json_t *json = NULL;
        for (char *at = copy; *at; at++)
                if (*at == '\'')
                        *at = '"';
        assert_int_equal(bh_json_parse(copy, strlen(copy), &json, NULL), 0);
        free(copy);
        return json;
}

/* An empty directory of this test's own. */
static inline void temporary_directory(char *buffer, size_t size)
{
        assert_true(size >= 64);
        strcpy(buffer, "/tmp/bulkhead-unit-XXXXXX");
        assert_non_null(mkdtemp(buffer));
}

#endif
