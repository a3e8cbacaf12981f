/* Scope-bound ownership: a variable that says how it is released.
 *
 *     _cleanup_free_ char *path = bh_format(...);
 *     _cleanup_close_ int fd = open(...);
 *     *ret_fd = bh_steal_fd(&fd);   // ownership moves out, cleanup sees -1
 */
#ifndef BULKHEAD_BASE_CLEANUP_H
#define BULKHEAD_BASE_CLEANUP_H

#include <jansson.h>
#include <stdlib.h>

#include "base/fd.h"

#define _cleanup_(function) __attribute__((cleanup(function)))

/* Defines `name##_cleanup(T *)` that calls `function` on a non-NULL pointer. */
#define BH_DEFINE_CLEANUP(type, name, function)          \
        static inline void name##_cleanup(type *pointer) \
        {                                                \
                if (*pointer)                            \
                        function(*pointer);              \
        }                                                \
        struct bh_require_semicolon

static inline void bh_free_cleanup(void *pointer)
{
        free(*(void **)pointer);
}

static inline void bh_close_cleanup(int *fd)
{
        bh_close(*fd);
}

static inline void bh_json_cleanup(json_t **json)
{
        json_decref(*json);
}

#define _cleanup_free_  _cleanup_(bh_free_cleanup)
#define _cleanup_close_ _cleanup_(bh_close_cleanup)
#define _cleanup_json_  _cleanup_(bh_json_cleanup)

#define bh_steal_ptr(pointer)                          \
        ({                                             \
                __typeof__(pointer) _slot = (pointer); \
                __typeof__(*_slot) _value = *_slot;    \
                *_slot = NULL;                         \
                _value;                                \
        })

static inline int bh_steal_fd(int *fd)
{
        int value = *fd;
        *fd = -1;
        return value;
}

#endif
