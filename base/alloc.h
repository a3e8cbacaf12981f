/* Allocation that cannot fail, used by every folder.
 *
 * Running out of memory ends the process with one line on stderr: every
 * request is capped in size, so an allocation that fails is a fault of the
 * host, and half-handled exhaustion in a broker is worse than a restart that
 * adopts what was running. Callers free with free(). */
#ifndef BULKHEAD_BASE_ALLOC_H
#define BULKHEAD_BASE_ALLOC_H

#include <stdarg.h>
#include <stddef.h>

void *bh_alloc(size_t size);                     /* zeroed, never NULL */
void *bh_alloc_array(size_t count, size_t size); /* overflow-checked, zeroed */
void *bh_realloc_array(void *old, size_t count, size_t size);
char *bh_strdup(const char *text);
char *bh_strndup(const char *text, size_t max);
char *bh_format(const char *format, ...) __attribute__((format(printf, 1, 2)));
char *bh_vformat(const char *format, va_list arguments) __attribute__((format(printf, 1, 0)));

/* The end of the process, for results of other libraries that only exhaustion makes NULL. */
void bh_alloc_failed(void) __attribute__((noreturn));

#endif
