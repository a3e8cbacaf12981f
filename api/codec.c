/* See codec.h. */
#include "api/codec.h"

#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/digest.h"
#include "base/fd.h"
#include "policy/request.h"

/* The bytes of files and stdin, put together. */
struct payload {
        unsigned char *bytes; /* owned */
        size_t size, capacity;
        size_t text_size; /* of the data strings as they came, for the document's own limit */
        int too_large;
};

static void payload_add(struct payload *payload, const void *data, size_t size)
{
        if (size > BH_PAYLOAD_MAX - payload->size) {
                payload->too_large = 1;
                return;
        }
        if (payload->size + size > payload->capacity) {
                payload->capacity = (payload->size + size) * 2;
                payload->bytes = bh_realloc_array(payload->bytes, payload->capacity, 1);
        }
        if (size > 0)
                memcpy(payload->bytes + payload->size, data, size);
        payload->size += size;
}

/* Decodes data and encoding of one entry into the payload. */
static int decode_data(const struct bh_json_at *entry, struct payload *payload,
                       struct bh_error *error)
{
        static const char *const encodings[] = {"utf-8", "base64", NULL};
        _cleanup_free_ unsigned char *decoded = NULL;
        struct bh_json_at data, encoding;
        const char *text;
        size_t size;
        int kind = 0;

        if (bh_json_require(entry, "data", &data, error) < 0 ||
            bh_json_string(&data, 0, SIZE_MAX, &text, error) < 0)
                return -1;
        if (bh_json_member(entry, "encoding", &encoding) &&
            bh_json_choice(&encoding, encodings, &kind, error) < 0)
                return -1;
        size = strlen(text);
        payload->text_size += size;
        if (kind == 0) {
                payload_add(payload, text, size);
                return 0;
        }
        if (bh_base64_decode(text, size, &decoded, &size) < 0)
                return bh_json_fail(&data, error, "not base64 (RFC 4648, with padding)");
        payload_add(payload, decoded, size);
        return 0;
}

/* Puts offset and length in place of data and encoding. value is part of the document at entry. */
static int move_data(const struct bh_json_at *entry, const char *const members[], json_t *value,
                     struct payload *payload, struct bh_error *error)
{
        size_t offset = payload->size;

        if (bh_json_object(entry, members, error) < 0 || decode_data(entry, payload, error) < 0)
                return -1;
        json_object_del(value, "data");
        json_object_del(value, "encoding");
        json_object_set_new(value, "offset", json_integer((json_int_t)offset));
        json_object_set_new(value, "length", json_integer((json_int_t)(payload->size - offset)));
        return 0;
}

static int move_files(const struct bh_json_at *files, struct payload *payload,
                      struct bh_error *error)
{
        static const char *const members[] = {"path", "data", "encoding", "mode", NULL};
        size_t count;

        if (bh_json_array(files, 0, BH_FILES_MAX, &count, error) < 0)
                return -1;
        for (size_t i = 0; i < count; i++) {
                struct bh_json_at entry = bh_json_element(files, i);

                if (move_data(&entry, members, json_array_get(files->value, i), payload, error) < 0)
                        return -1;
        }
        return 0;
}

static int move_payload(json_t *document, struct payload *payload, struct bh_error *error)
{
        static const char *const members[] = {"data", "encoding", NULL};
        struct bh_json_at root = BH_JSON_ROOT(document), at;

        if (!json_is_object(document))
                return bh_json_fail(&root, error, "expected an object");
        if (bh_json_member(&root, "files", &at) && move_files(&at, payload, error) < 0)
                return -1;
        if (bh_json_member(&root, "stdin", &at))
                return move_data(&at, members, json_object_get(document, "stdin"), payload, error);
        return 0;
}

static int decode_execution(struct bh_body *body, size_t size, struct bh_http_problem *problem)
{
        struct payload payload = {.size = 0};
        _cleanup_free_ unsigned char *bytes = NULL;
        struct bh_error error = {.code = BH_ERROR_NONE};
        int result;

        bh_json_digest(body->json, body->digest);
        result = move_payload(body->json, &payload, &error);
        bytes = payload.bytes;
        if (result < 0) {
                bh_http_problem_from_error(problem, &error, "invalid_request", 1);
                return -1;
        }
        if (payload.too_large || size > payload.text_size + BH_DOCUMENT_MAX) {
                bh_http_problem_set(problem, 413, "body_too_large",
                                    "without the data of files and stdin the body may have 1 MiB");
                return -1;
        }
        if (payload.size == 0)
                return 0;
        body->payload = bh_memfd_sealed("bulkhead-payload", bytes, payload.size, &error);
        if (body->payload < 0)
                bh_http_problem_from_error(problem, &error, "internal_error", 0);
        return body->payload < 0 ? -1 : 0;
}

int bh_body_decode(const char *text, size_t size, int carries_execution, struct bh_body *ret,
                   struct bh_http_problem *problem)
{
        struct bh_body body = {.payload = -1};
        struct bh_error error;

        if (bh_json_parse(text, size, &body.json, &error) < 0) {
                bh_http_problem_from_error(problem, &error, "invalid_request", 1);
                return -1;
        }
        if (carries_execution && decode_execution(&body, size, problem) < 0) {
                bh_body_clear(&body);
                return -1;
        }
        *ret = body;
        return 0;
}

void bh_body_clear(struct bh_body *body)
{
        json_decref(body->json);
        body->json = NULL;
        body->payload = bh_close(body->payload);
}
