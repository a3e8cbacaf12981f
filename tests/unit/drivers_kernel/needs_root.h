/* Tests on the running kernel: who may run them, and how a refusal is printed. */
#ifndef BULKHEAD_TESTS_NEEDS_ROOT_H
#define BULKHEAD_TESTS_NEEDS_ROOT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/error.h"

#define TEST_SKIPPED 77 /* what CTest takes for "skipped" */

/* true, and a line saying why, when the caller is not root. */
static inline int bh_test_lacks_root(const char *what)
{
        if (geteuid() == 0)
                return 0;
        printf("SKIPPED: %s needs root\n", what);
        return 1;
}

/* Asserts success and shows the error otherwise. */
#define assert_ok(call, error)                                                            \
        do {                                                                              \
                if ((call) < 0)                                                           \
                        fail_msg("%s: [%s] %s", #call, (error).subject, (error).message); \
        } while (0)

#endif
