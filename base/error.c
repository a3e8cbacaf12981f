/* The one error object; see error.h. */
#include "base/error.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

/* Adds as much of text as there is room for.
 *
 * Every text member ends up as well-formed UTF-8, so that it can always become JSON: what
 * callers put in may be a path of arbitrary bytes, or cut inside a sequence. */
static void append_text(char *buffer, size_t size, const char *text)
{
        size_t used = strlen(buffer);
        size_t length = strnlen(text, size - used - 1);

        memcpy(buffer + used, text, length);
        buffer[used + length] = '\0';
        bh_utf8_repair(buffer);
}

/* The arguments may point into error itself: format first, overwrite after. */
static int set(struct bh_error *error, enum bh_error_code code, const char *reason,
               const char *subject, const char *format, va_list arguments)
        __attribute__((format(printf, 5, 0)));

static int set(struct bh_error *error, enum bh_error_code code, const char *reason,
               const char *subject, const char *format, va_list arguments)
{
        struct bh_error next = {.code = code};

        if (!error)
                return -1;
        vsnprintf(next.message, sizeof(next.message), format, arguments);
        bh_utf8_repair(next.message);
        append_text(next.reason, sizeof(next.reason), reason);
        append_text(next.subject, sizeof(next.subject), subject);
        *error = next;
        return -1;
}

int bh_error_set(struct bh_error *error, enum bh_error_code code, const char *format, ...)
{
        va_list arguments;

        va_start(arguments, format);
        set(error, code, "", "", format, arguments);
        va_end(arguments);
        return -1;
}

int bh_error_errno(struct bh_error *error, int errnum, const char *format, ...)
{
        const char *description = strerrordesc_np(errnum);
        va_list arguments;

        va_start(arguments, format);
        set(error, BH_ERROR_SYSTEM, "", "", format, arguments);
        va_end(arguments);
        if (error) {
                error->errnum = errnum;
                append_text(error->message, sizeof(error->message), ": ");
                append_text(error->message, sizeof(error->message),
                            description ? description : "unknown error");
        }
        errno = errnum;
        return -1;
}

int bh_error_invalid(struct bh_error *error, const char *pointer, const char *format, ...)
{
        va_list arguments;

        va_start(arguments, format);
        set(error, BH_ERROR_INVALID, "", pointer, format, arguments);
        va_end(arguments);
        return -1;
}

int bh_error_refused(struct bh_error *error, const char *reason, const char *pointer,
                     const char *format, ...)
{
        va_list arguments;

        va_start(arguments, format);
        set(error, BH_ERROR_REFUSED, reason, pointer, format, arguments);
        va_end(arguments);
        return -1;
}

int bh_error_control(struct bh_error *error, const char *control)
{
        char subject[BH_ERROR_SUBJECT_SIZE] = "";

        if (!error)
                return -1;
        append_text(subject, sizeof(subject), control);
        memcpy(error->subject, subject, sizeof(subject));
        error->code = BH_ERROR_CONTROL;
        error->reason[0] = '\0';
        return -1;
}

int bh_error_prefix(struct bh_error *error, const char *format, ...)
{
        char message[BH_ERROR_MESSAGE_SIZE];
        va_list arguments;

        if (!error)
                return -1;
        va_start(arguments, format);
        vsnprintf(message, sizeof(message), format, arguments);
        va_end(arguments);
        append_text(message, sizeof(message), ": ");
        append_text(message, sizeof(message), error->message);
        memcpy(error->message, message, sizeof(message));
        return -1;
}
