/* Splitting and decoding request targets; see target.h. */
#include "api/target.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/utf8_scan.h"
#include "base/alloc.h"
#include "policy/name.h"

static int hex_value(char digit)
{
        if (digit >= '0' && digit <= '9')
                return digit - '0';
        if (digit >= 'a' && digit <= 'f')
                return digit - 'a' + 10;
        if (digit >= 'A' && digit <= 'F')
                return digit - 'A' + 10;
        return -1;
}

int bh_percent_decode(char *text, bool plus_is_space, struct bh_error *error)
{
        char *to = text;

        for (const char *from = text; *from;) {
                int high, low;

                if (*from != '%') {
                        *to++ = *from == '+' && plus_is_space ? ' ' : *from;
                        from++;
                        continue;
                }
                high = hex_value(from[1]);
                low = high < 0 ? -1 : hex_value(from[2]);
                if (low < 0)
                        return bh_error_invalid(error, "", "a percent escape is malformed");
                if (high == 0 && low == 0)
                        return bh_error_invalid(error, "", "%%00 is not allowed");
                *to++ = (char)(high * 16 + low);
                from += 3;
        }
        *to = '\0';
        if (!bh_utf8_valid(text, (size_t)(to - text)))
                return bh_error_invalid(error, "", "the decoded text is not UTF-8");
        if (!bh_text_printable(text))
                return bh_error_invalid(error, "", "the decoded text holds a control character");
        return 0;
}

/* "http://host/path" → "/path" (RFC 9112 section 3.2.2). NULL when text is neither form. */
static const char *origin_form(const char *text)
{
        static const char *const schemes[] = {"http://", "https://"};

        if (text[0] == '/')
                return text;
        for (size_t i = 0; i < sizeof(schemes) / sizeof(schemes[0]); i++) {
                const char *host = text + strlen(schemes[i]);

                if (strncmp(text, schemes[i], strlen(schemes[i])) == 0)
                        return host[strcspn(host, "/?")] == '/' ? host + strcspn(host, "/?") : NULL;
        }
        return NULL;
}

/* Whether the next segment is of a workspace's file: /v1/workspaces/{workspace}/files/… */
static bool in_file_path(const struct bh_target *target)
{
        return target->segment_count >= 4 && strcmp(target->segments[1], "workspaces") == 0 &&
               strcmp(target->segments[3], "files") == 0;
}

static int check_segment(const struct bh_target *target, char *segment, struct bh_error *error)
{
        if (bh_percent_decode(segment, false, error) < 0)
                return bh_error_prefix(error, "the path");
        if (segment[0] == '\0' || strcmp(segment, ".") == 0 || strcmp(segment, "..") == 0)
                return bh_error_invalid(error, "",
                                        "the path has an empty, \".\" or \"..\" segment");
        if (strchr(segment, '/') || (strchr(segment, '\\') && !in_file_path(target)))
                return bh_error_invalid(error, "", "a path segment holds a separator");
        return 0;
}

static int add_segment(struct bh_target *target, char *segment, struct bh_error *error)
{
        if (check_segment(target, segment, error) < 0) {
                if (error && in_file_path(target))
                        (void)snprintf(error->reason, sizeof(error->reason), "path_not_allowed");
                return -1;
        }
        target->segments[target->segment_count++] = segment;
        return 0;
}

static int split(struct bh_target *target, char *path, struct bh_error *error)
{
        size_t slashes = 0;

        if (strcmp(path, "/") == 0)
                return 0;
        for (const char *at = path; (at = strchr(at, '/')); at++)
                slashes++;
        target->segments = bh_alloc_array(slashes, sizeof(*target->segments));
        for (char *segment = path + 1, *end; segment; segment = end) {
                end = strchr(segment, '/');
                if (end)
                        *end++ = '\0';
                if (add_segment(target, segment, error) < 0)
                        return -1;
        }
        return 0;
}

int bh_target_parse(const char *text, struct bh_target *ret, struct bh_error *error)
{
        const char *origin = origin_form(text);
        struct bh_target target = {.query = ""};
        char *query;

        if (!origin)
                return bh_error_invalid(error, "", "the request target is not a path");
        if (strchr(origin, '#'))
                return bh_error_invalid(error, "", "the request target holds a fragment");
        target.text = bh_strdup(origin);
        query = strchr(target.text, '?');
        if (query) {
                *query = '\0';
                target.query = query + 1;
        }
        if (split(&target, target.text, error) < 0) {
                bh_target_clear(&target);
                return -1;
        }
        *ret = target;
        return 0;
}

void bh_target_clear(struct bh_target *target)
{
        free(target->segments);
        free(target->text);
        *target = (struct bh_target){.query = ""};
}
