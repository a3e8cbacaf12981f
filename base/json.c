/* Parsing and printing JSON; see json.h. Decoding is in json_at.c, the digest in digest.c. */
#include "base/json.h"

#include "base/alloc.h"
#include "base/json_scan.h"

int bh_json_parse(const char *text, size_t size, json_t **ret, struct bh_error *error)
{
        char pointer[BH_ERROR_SUBJECT_SIZE];
        json_error_t problem;
        json_t *json;

        if (bh_json_scan(text, size, error) < 0)
                return -1;
        json = json_loadb(text, size, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &problem);
        if (json) {
                *ret = json;
                return 0;
        }
        /* jansson has read up to the end of the token that it refuses. */
        bh_json_scan_locate(text, size, (size_t)problem.position, pointer, sizeof(pointer));
        switch (json_error_code(&problem)) {
        case json_error_duplicate_key:
                return bh_error_invalid(error, pointer, "invalid JSON at byte %d: duplicate key",
                                        problem.position);
        case json_error_numeric_overflow:
                return bh_error_invalid(error, pointer,
                                        "invalid JSON at byte %d: the number does not fit",
                                        problem.position);
        case json_error_out_of_memory:
                bh_alloc_failed();
        default:
                return bh_error_invalid(error, pointer, "invalid JSON at byte %d",
                                        problem.position);
        }
}

/* Values that were parsed or built always print. */
static char *print(const json_t *json, size_t flags)
{
        char *text = json_dumps(json, flags | JSON_COMPACT | JSON_ENCODE_ANY);

        if (!text)
                bh_alloc_failed();
        return text;
}

char *bh_json_canonical(const json_t *json)
{
        /* jansson compares keys as bytes, which is code point order in UTF-8. */
        return print(json, JSON_SORT_KEYS);
}

char *bh_json_text(const json_t *json)
{
        return print(json, 0);
}
