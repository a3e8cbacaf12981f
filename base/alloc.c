/* Allocation that cannot fail; see alloc.h. */
#include "base/alloc.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void bh_alloc_failed(void)
{
        static const char line[] = "out of memory\n";

        /* Nothing to be done when even this fails. */
        if (write(STDERR_FILENO, line, sizeof(line) - 1) < 0)
                abort();
        abort();
}

static void *require(void *memory)
{
        if (!memory)
                bh_alloc_failed();
        return memory;
}

void *bh_alloc(size_t size)
{
        return require(calloc(1, size ? size : 1));
}

void *bh_alloc_array(size_t count, size_t size)
{
        if (count == 0 || size == 0)
                return bh_alloc(0);
        return require(calloc(count, size));
}

void *bh_realloc_array(void *old, size_t count, size_t size)
{
        /* A size of 0 would free old and return NULL. */
        if (count == 0 || size == 0)
                count = size = 1;
        return require(reallocarray(old, count, size));
}

char *bh_strdup(const char *text)
{
        return require(strdup(text));
}

char *bh_strndup(const char *text, size_t max)
{
        return require(strndup(text, max));
}

char *bh_vformat(const char *format, va_list arguments)
{
        char *text;

        if (vasprintf(&text, format, arguments) < 0)
                bh_alloc_failed();
        return text;
}

char *bh_format(const char *format, ...)
{
        va_list arguments;
        char *text;

        va_start(arguments, format);
        text = bh_vformat(format, arguments);
        va_end(arguments);
        return text;
}
