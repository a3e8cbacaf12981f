/* See problem.h. */
#include "api/problem.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/utf8.h"

const char *bh_status_phrase(int status)
{
        static const struct {
                int status;
                const char *phrase;
        } phrases[] = {
                {400, "Bad Request"},
                {401, "Unauthorized"},
                {403, "Forbidden"},
                {404, "Not Found"},
                {405, "Method Not Allowed"},
                {408, "Request Timeout"},
                {409, "Conflict"},
                {412, "Precondition Failed"},
                {413, "Content Too Large"},
                {414, "URI Too Long"},
                {415, "Unsupported Media Type"},
                {416, "Range Not Satisfiable"},
                {417, "Expectation Failed"},
                {422, "Unprocessable Content"},
                {429, "Too Many Requests"},
                {431, "Request Header Fields Too Large"},
                {500, "Internal Server Error"},
                {503, "Service Unavailable"},
                {505, "HTTP Version Not Supported"},
                {507, "Insufficient Storage"},
        };

        for (size_t i = 0; i < sizeof(phrases) / sizeof(phrases[0]); i++)
                if (phrases[i].status == status)
                        return phrases[i].phrase;
        return "Error";
}

void bh_http_problem_set(struct bh_http_problem *problem, int status, const char *code,
                         const char *format, ...)
{
        va_list arguments;

        bh_http_problem_clear(problem);
        problem->status = status;
        (void)snprintf(problem->code, sizeof(problem->code), "%s", code);
        va_start(arguments, format);
        (void)vsnprintf(problem->detail, sizeof(problem->detail), format, arguments);
        va_end(arguments);
        /* Truncation may have cut a character; client bytes may be anything. */
        bh_utf8_repair(problem->detail);
}

void bh_http_problem_from_error(struct bh_http_problem *problem, const struct bh_error *error,
                                const char *code, int with_pointer)
{
        switch (error->code) {
        case BH_ERROR_INVALID:
                bh_http_problem_set(problem, 400, error->reason[0] ? error->reason : code, "%s",
                                    error->message);
                if (with_pointer)
                        problem->errors = json_pack("[{s:s?, s:s?}]", "pointer", error->subject,
                                                    "reason", problem->detail);
                break;
        case BH_ERROR_NOT_FOUND:
                bh_http_problem_set(problem, 404, "not_found", "%s", error->message);
                break;
        case BH_ERROR_UNAVAILABLE:
                bh_http_problem_set(problem, 503, "unavailable", "%s", error->message);
                break;
        default:
                /* What went wrong inside is for the log; it may name paths of this host. */
                bh_http_problem_set(problem, 500, "internal_error",
                                    "the API failed; its log says how");
                break;
        }
}

void bh_http_problem_from_reply(struct bh_http_problem *problem, int status, const json_t *reply)
{
        const char *code = json_string_value(json_object_get(reply, "code"));
        const char *detail = json_string_value(json_object_get(reply, "detail"));
        json_t *errors = json_object_get(reply, "errors");

        bh_http_problem_set(problem, status, code ? code : "internal_error", "%s",
                            detail ? detail : "");
        if (json_is_array(errors))
                problem->errors = json_incref(errors);
}

void bh_http_problem_clear(struct bh_http_problem *problem)
{
        json_decref(problem->errors);
        *problem = (struct bh_http_problem){.status = 0};
}

char *bh_http_problem_text(const struct bh_http_problem *problem, const char *request_id)
{
        _cleanup_json_ json_t *document = json_object();

        /* "about:blank" says that title and status tell the type; code tells the rest. */
        json_object_set_new(document, "type", json_string("about:blank"));
        json_object_set_new(document, "title", json_string(bh_status_phrase(problem->status)));
        json_object_set_new(document, "status", json_integer(problem->status));
        json_object_set_new(document, "detail", json_string(problem->detail));
        json_object_set_new(document, "code", json_string(problem->code));
        json_object_set_new(document, "errors",
                            problem->errors ? json_incref(problem->errors) : json_array());
        json_object_set_new(document, "request_id", json_string(request_id));
        return bh_json_text(document);
}
