/* Problem documents (RFC 9457): the one shape of every error that the API answers. */
#ifndef BULKHEAD_API_PROBLEM_H
#define BULKHEAD_API_PROBLEM_H

#include <jansson.h>

#include "base/error.h"

struct bh_http_problem {
        int status;
        char code[48];
        char detail[800];
        json_t *errors; /* owned: [{"pointer", "reason"}], or NULL for none */
};

void bh_http_problem_set(struct bh_http_problem *problem, int status, const char *code,
                         const char *format, ...) __attribute__((format(printf, 4, 5)));
/* From an error of base or policy; BH_ERROR_INVALID becomes 400 with code, its subject the
 * pointer of the one entry of errors when with_pointer is set. */
void bh_http_problem_from_error(struct bh_http_problem *problem, const struct bh_error *error,
                                const char *code, int with_pointer);
/* From the broker's {"code", "detail", "errors"}. */
void bh_http_problem_from_reply(struct bh_http_problem *problem, int status, const json_t *reply);
void bh_http_problem_clear(struct bh_http_problem *problem);

/* The document's text. Caller frees. */
char *bh_http_problem_text(const struct bh_http_problem *problem, const char *request_id);

/* "Not Found". "Error" for a status that this API does not use. */
const char *bh_status_phrase(int status);

#endif
