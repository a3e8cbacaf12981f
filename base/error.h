/* The one error object. Functions return 0 (or a count) or -1 and fill it;
 * callers add context on the way up; one place logs it or turns it into an
 * HTTP problem. Library code never logs and never exits.
 *
 * Every function here accepts a NULL error and then does nothing but return -1,
 * so `return bh_error_set(error, ...)` is always the right tail. */
#ifndef BULKHEAD_BASE_ERROR_H
#define BULKHEAD_BASE_ERROR_H

#include <stdarg.h>

enum bh_error_code {
        BH_ERROR_NONE = 0,
        BH_ERROR_INVALID, /* input that is wrong by itself; subject: JSON pointer */
        BH_ERROR_REFUSED, /* well-formed but not allowed; reason: stable snake_case code */
        BH_ERROR_NOT_FOUND,
        BH_ERROR_CONFLICT,
        BH_ERROR_UNAVAILABLE, /* the host cannot give it now */
        BH_ERROR_CONTROL,     /* a boundary control failed; subject: the control's name */
        BH_ERROR_SYSTEM,      /* a system call failed; errnum says how */
        BH_ERROR_PROTOCOL,    /* a peer broke a protocol */
        BH_ERROR_CLOSED,      /* a peer is gone */
        BH_ERROR_INTERNAL,
};

#define BH_ERROR_SUBJECT_SIZE 256
#define BH_ERROR_MESSAGE_SIZE 768

struct bh_error {
        enum bh_error_code code;
        int errnum;      /* errno value, 0 when none applies */
        char reason[48]; /* stable code for programs ("mount_not_allowed"), or "" */
        char subject[BH_ERROR_SUBJECT_SIZE]; /* JSON pointer or control name, or "" */
        char message[BH_ERROR_MESSAGE_SIZE]; /* for people; context first: "load policy: /rules/0:
                                                ..." */
};

/* Sets code and message, clears the rest. Always returns -1. */
int bh_error_set(struct bh_error *error, enum bh_error_code code, const char *format, ...)
        __attribute__((format(printf, 3, 4)));

/* BH_ERROR_SYSTEM from an errno value (positive); appends its text. Returns -1. */
int bh_error_errno(struct bh_error *error, int errnum, const char *format, ...)
        __attribute__((format(printf, 3, 4)));

/* Like bh_error_set, for input: subject is the JSON pointer. Returns -1. */
int bh_error_invalid(struct bh_error *error, const char *pointer, const char *format, ...)
        __attribute__((format(printf, 3, 4)));

/* A refusal with its stable code, e.g. "capability_scope_mismatch". Returns -1. */
int bh_error_refused(struct bh_error *error, const char *reason, const char *pointer,
                     const char *format, ...) __attribute__((format(printf, 4, 5)));

/* Turns whatever error holds into BH_ERROR_CONTROL of the named control, keeping
 * errnum and message. Returns -1. */
int bh_error_control(struct bh_error *error, const char *control);

/* Puts "context: " before the message. Returns -1. */
int bh_error_prefix(struct bh_error *error, const char *format, ...)
        __attribute__((format(printf, 2, 3)));

#endif
