/* Fuzzes base/json. Whatever is accepted has a canonical form that is its own canonical form
 * and digest; whatever is refused says what is wrong and where; masking never fails. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/log.h"
#include "base/utf8.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
        if (!holds)
                abort();
}

static bool is_utf8(const char *text)
{
        for (size_t left = strlen(text); left > 0;) {
                size_t length = bh_utf8_length(text, left);

                if (length == 0)
                        return false;
                text += length;
                left -= length;
        }
        return true;
}

/* The place must be a pointer: every '~' is followed by '0' or '1'. */
static void check_refusal(const struct bh_error *error)
{
        require(error->code == BH_ERROR_INVALID);
        /* "invalid JSON at byte N" alone is for what neither pass has a word for. */
        require(strstr(error->message, ": ") != NULL);
        require(error->subject[0] == '\0' || error->subject[0] == '/');
        require(is_utf8(error->subject) && is_utf8(error->message));
        for (const char *tilde = error->subject; (tilde = strchr(tilde, '~')); tilde++)
                require(tilde[1] == '0' || tilde[1] == '1');
}

static void check_round_trip(const json_t *json)
{
        _cleanup_free_ char *canonical = bh_json_canonical(json);
        _cleanup_free_ char *text = bh_json_text(json);
        _cleanup_free_ char *again = NULL, *from_text = NULL, *masked = NULL;
        _cleanup_json_ json_t *reparsed = NULL, *retext = NULL;
        char a[BH_DIGEST_TEXT_SIZE], b[BH_DIGEST_TEXT_SIZE];

        require(bh_json_parse(canonical, strlen(canonical), &reparsed, NULL) == 0);
        again = bh_json_canonical(reparsed);
        require(strcmp(canonical, again) == 0);
        require(bh_json_parse(text, strlen(text), &retext, NULL) == 0);
        from_text = bh_json_canonical(retext);
        require(strcmp(canonical, from_text) == 0);
        bh_json_digest(json, a);
        bh_json_digest(reparsed, b);
        require(strcmp(a, b) == 0);
        masked = bh_redact(text);
        require(is_utf8(masked));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        /* A copy of exactly this size, so that reading past its end is seen. */
        _cleanup_free_ char *text = malloc(size ? size : 1);
        _cleanup_json_ json_t *json = NULL;
        struct bh_error error = {0};

        require(text != NULL);
        if (size > 0)
                memcpy(text, data, size);
        if (bh_json_parse(text, size, &json, &error) < 0)
                check_refusal(&error);
        else
                check_round_trip(json);
        return 0;
}
