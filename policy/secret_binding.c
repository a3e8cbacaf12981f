/* An agent's secret entries: decoding and canonical encoding. See secret_binding.h; called by
 * agent and plan decoding. */
#include "policy/secret_binding.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "policy/filter.h"
#include "policy/host_name.h"
#include "policy/name.h"
#include "policy/strings.h"

#define HOSTS_MAX      32
#define HEADER_MAX     128
#define FORMAT_MAX     256
#define BASIC_USER_MAX 256
#define QUERY_KEY_MAX  128

/* Headers that frame or route a message (RFC 9110 §7.6, RFC 9112 §6, RFC 7239): a secret in
 * one of them would change where or how the message goes. "Proxy-" is a prefix. */
static const char *const framing_headers[] = {
        "Host",      "Content-Length",   "Transfer-Encoding", "Connection",        "Keep-Alive",
        "TE",        "Trailer",          "Upgrade",           "HTTP2-Settings",    "Expect",
        "Forwarded", "X-Forwarded-Host", "X-Forwarded-For",   "X-Forwarded-Proto", "Via",
};

static int check_host(const struct bh_json_at *at, const char *text, char **ret_text,
                      struct bh_error *error)
{
        char host[BH_HOST_SIZE];
        bool wildcard;

        if (bh_host_pattern_decode(at, text, host, &wildcard, error) < 0)
                return -1;
        *ret_text = bh_format("%s%s", wildcard ? "*." : "", host);
        return 0;
}

static int check_header(const struct bh_json_at *at, const char *name, struct bh_error *error)
{
        if (!bh_token_valid(name))
                return bh_json_fail(at, error, "a header's name is a token");
        for (size_t i = 0; i < sizeof(framing_headers) / sizeof(*framing_headers); i++)
                if (strcasecmp(name, framing_headers[i]) == 0)
                        return bh_json_fail(at, error, "%s frames or routes the message", name);
        if (strncasecmp(name, "Proxy-", strlen("Proxy-")) == 0)
                return bh_json_fail(at, error, "Proxy-* headers are for the next hop only");
        return 0;
}

static int header_decode(const struct bh_json_at *at, const struct bh_json_at *header,
                         struct bh_secret_binding *binding, struct bh_error *error)
{
        static const char *const members[] = {"header", "format", NULL};
        struct bh_json_at member;
        const char *name, *format = "{}";

        if (bh_json_object(at, members, error) < 0 ||
            bh_json_string(header, 1, HEADER_MAX, &name, error) < 0 ||
            check_header(header, name, error) < 0)
                return -1;
        if (bh_json_member(at, "format", &member)) {
                if (bh_json_string(&member, 2, FORMAT_MAX, &format, error) < 0)
                        return -1;
                const char *hole = strstr(format, "{}");

                if (!hole || strstr(hole + 2, "{}"))
                        return bh_json_fail(&member, error, "a format holds \"{}\" exactly once");
                if (!bh_text_printable(format))
                        return bh_json_fail(&member, error, "a format holds no control characters");
        }
        binding->place = BH_SECRET_HEADER;
        binding->key = bh_strdup(name);
        binding->format = bh_strdup(format);
        return 0;
}

static int basic_decode(const struct bh_json_at *at, const struct bh_json_at *basic,
                        struct bh_secret_binding *binding, struct bh_error *error)
{
        static const char *const members[] = {"basic", NULL};
        static const char *const basic_members[] = {"user", NULL};
        struct bh_json_at member;
        const char *user;

        if (bh_json_object(at, members, error) < 0 ||
            bh_json_object(basic, basic_members, error) < 0 ||
            bh_json_require(basic, "user", &member, error) < 0 ||
            bh_json_string(&member, 0, BASIC_USER_MAX, &user, error) < 0)
                return -1;
        if (strchr(user, ':') || !bh_text_printable(user)) /* RFC 7617 §2 */
                return bh_json_fail(&member, error,
                                    "a Basic user holds no ':' and no control characters");
        binding->place = BH_SECRET_BASIC;
        binding->key = bh_strdup(user);
        return 0;
}

static int query_decode(const struct bh_json_at *at, const struct bh_json_at *query,
                        struct bh_secret_binding *binding, struct bh_error *error)
{
        static const char *const members[] = {"query", NULL};
        static const char unreserved[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                         "0123456789-._~"; /* RFC 3986 §2.3 */
        const char *key;

        if (bh_json_object(at, members, error) < 0 ||
            bh_json_string(query, 1, QUERY_KEY_MAX, &key, error) < 0)
                return -1;
        if (key[strspn(key, unreserved)] != '\0')
                return bh_json_fail(query, error,
                                    "a query key is letters, digits, '-', '.', '_' and '~', so "
                                    "that it has one spelling");
        binding->place = BH_SECRET_QUERY;
        binding->key = bh_strdup(key);
        return 0;
}

static int place_decode(const struct bh_json_at *at, struct bh_secret_binding *binding,
                        struct bh_error *error)
{
        static const char *const members[] = {"header", "format", "basic", "query", NULL};
        struct bh_json_at member;

        if (bh_json_object(at, members, error) < 0)
                return -1;
        if (bh_json_member(at, "header", &member))
                return header_decode(at, &member, binding, error);
        if (bh_json_member(at, "basic", &member))
                return basic_decode(at, &member, binding, error);
        if (bh_json_member(at, "query", &member))
                return query_decode(at, &member, binding, error);
        return bh_json_fail(at, error, "one of header, basic and query says where it goes");
}

/* Fills *binding, which the caller clears also on failure. */
static int binding_decode(const struct bh_json_at *at, struct bh_secret_binding *binding,
                          struct bh_error *error)
{
        static const char *const members[] = {"name",  "hosts", "ports", "methods",
                                              "paths", "as",    NULL};
        struct bh_json_at member;
        const char *name;

        if (bh_json_object(at, members, error) < 0 ||
            bh_json_require(at, "name", &member, error) < 0 ||
            bh_name_decode(&member, &name, error) < 0)
                return -1;
        binding->name = bh_strdup(name);
        if (bh_json_require(at, "hosts", &member, error) < 0 ||
            bh_strings_decode(&member, 1, HOSTS_MAX, BH_HOST_SIZE + 2, check_host, &binding->hosts,
                              &binding->host_count, error) < 0)
                return -1;
        if (bh_json_member(at, "ports", &member) &&
            bh_ports_decode(&member, &binding->ports, &binding->port_count, error) < 0)
                return -1;
        if (bh_json_member(at, "methods", &member) &&
            bh_methods_decode(&member, &binding->methods, &binding->method_count, error) < 0)
                return -1;
        if (bh_json_member(at, "paths", &member) &&
            bh_paths_decode(&member, &binding->paths, &binding->path_count, error) < 0)
                return -1;
        if (bh_json_require(at, "as", &member, error) < 0)
                return -1;
        return place_decode(&member, binding, error);
}

/* Names become BULKHEAD_SECRET_<NAME>, where '.', '-' and '_' are one. */
static bool same_variable(const char *a, const char *b)
{
        for (; *a && *b; a++, b++) {
                bool a_separator = strchr("._-", *a) != NULL,
                     b_separator = strchr("._-", *b) != NULL;

                if (a_separator ? !b_separator : *a != *b)
                        return false;
        }
        return *a == *b;
}

static int check_distinct(const struct bh_json_at *at, const struct bh_secret_bindings *bindings,
                          size_t index, struct bh_error *error)
{
        const char *name = bindings->items[index].name;
        struct bh_json_at member;

        for (size_t i = 0; i < index; i++)
                if (same_variable(name, bindings->items[i].name)) {
                        bh_json_member(at, "name", &member);
                        return bh_json_fail(&member, error,
                                            "%s and %s would be one environment variable",
                                            bindings->items[i].name, name);
                }
        return 0;
}

int bh_secret_bindings_decode(const struct bh_json_at *at, struct bh_secret_bindings *ret,
                              struct bh_error *error)
{
        struct bh_secret_bindings bindings = {0};
        size_t count;

        if (bh_json_array(at, 0, BH_SECRET_BINDINGS_MAX, &count, error) < 0)
                return -1;
        bindings.items = bh_alloc_array(count + 1, sizeof(*bindings.items));
        for (size_t i = 0; i < count; i++) {
                struct bh_json_at element = bh_json_element(at, i);

                bindings.count = i + 1;
                if (binding_decode(&element, &bindings.items[i], error) < 0 ||
                    check_distinct(&element, &bindings, i, error) < 0) {
                        bh_secret_bindings_clear(&bindings);
                        return -1;
                }
        }
        *ret = bindings;
        return 0;
}

static json_t *place_encode(const struct bh_secret_binding *binding)
{
        switch (binding->place) {
        case BH_SECRET_HEADER:
                return json_pack("{s:s, s:s}", "header", binding->key, "format", binding->format);
        case BH_SECRET_BASIC:
                return json_pack("{s:{s:s}}", "basic", "user", binding->key);
        case BH_SECRET_QUERY:
                break;
        }
        return json_pack("{s:s}", "query", binding->key);
}

json_t *bh_secret_bindings_encode(const struct bh_secret_bindings *bindings)
{
        json_t *array = json_array();

        for (size_t i = 0; i < bindings->count; i++) {
                const struct bh_secret_binding *binding = &bindings->items[i];
                json_t *object = json_object();

                json_object_set_new(object, "name", json_string(binding->name));
                json_object_set_new(object, "hosts",
                                    bh_strings_encode_sorted(binding->hosts, binding->host_count));
                if (binding->port_count)
                        json_object_set_new(object, "ports",
                                            bh_ports_encode(binding->ports, binding->port_count));
                if (binding->method_count)
                        json_object_set_new(
                                object, "methods",
                                bh_strings_encode_sorted(binding->methods, binding->method_count));
                if (binding->path_count)
                        json_object_set_new(
                                object, "paths",
                                bh_strings_encode_sorted(binding->paths, binding->path_count));
                json_object_set_new(object, "as", place_encode(binding));
                json_array_append_new(array, object);
        }
        return bh_json_sorted_take(array);
}

void bh_secret_bindings_copy(const struct bh_secret_bindings *bindings,
                             struct bh_secret_bindings *ret)
{
        struct bh_secret_binding *items = bh_alloc_array(bindings->count + 1, sizeof(*items));

        for (size_t i = 0; i < bindings->count; i++) {
                const struct bh_secret_binding *binding = &bindings->items[i];
                struct bh_secret_binding *copy = &items[i];

                *copy = *binding;
                copy->name = bh_strdup(binding->name);
                copy->hosts = bh_strings_copy(binding->hosts, binding->host_count);
                copy->ports = bh_alloc_array(binding->port_count + 1, sizeof(*binding->ports));
                for (size_t k = 0; k < binding->port_count; k++)
                        copy->ports[k] = binding->ports[k];
                copy->methods = bh_strings_copy(binding->methods, binding->method_count);
                copy->paths = bh_strings_copy(binding->paths, binding->path_count);
                copy->key = bh_strdup(binding->key);
                copy->format = binding->format ? bh_strdup(binding->format) : NULL;
        }
        ret->items = items;
        ret->count = bindings->count;
}

void bh_secret_bindings_clear(struct bh_secret_bindings *bindings)
{
        for (size_t i = 0; i < bindings->count; i++) {
                struct bh_secret_binding *binding = &bindings->items[i];

                free(binding->name);
                bh_strings_free(binding->hosts, binding->host_count);
                free(binding->ports);
                bh_strings_free(binding->methods, binding->method_count);
                bh_strings_free(binding->paths, binding->path_count);
                free(binding->key);
                free(binding->format);
        }
        free(bindings->items);
        *bindings = (struct bh_secret_bindings){0};
}
