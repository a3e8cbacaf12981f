/* See auth.h. */
#include "api/auth.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "policy/name.h"

#define TOKEN_MIN 16
#define TOKEN_MAX 256

static const char token68[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~+/";

const char *bh_bearer_parse(const char *header, size_t *ret_length)
{
        const char *token;
        size_t length, padding;

        if (!header || strncasecmp(header, "Bearer ", 7) != 0)
                return NULL;
        token = header + 7;
        length = strspn(token, token68);
        padding = length > 0 ? strspn(token + length, "=") : 0;
        length += padding;
        if (token[length] != '\0' || length < TOKEN_MIN || length > TOKEN_MAX)
                return NULL;
        *ret_length = length;
        return token;
}

const struct bh_caller *bh_callers_find(const struct bh_callers *callers, const char *header)
{
        const struct bh_caller *found = NULL;
        char sha256[BH_SHA256_HEX_SIZE];
        size_t length;
        const char *token = bh_bearer_parse(header, &length);

        if (!token)
                return NULL;
        bh_sha256_hex(token, length, sha256);
        for (size_t i = 0; i < callers->count; i++)
                if (bh_equal_constant_time(callers->list[i].sha256, sha256))
                        found = &callers->list[i];
        return found;
}

static void principal_clear(struct bh_caller *principal)
{
        free(principal->tenant);
        free(principal->name);
}

void bh_callers_clear(struct bh_callers *callers)
{
        for (size_t i = 0; i < callers->count; i++)
                principal_clear(&callers->list[i]);
        free(callers->list);
        *callers = (struct bh_callers){.count = 0};
}

static int read_text(const struct bh_json_at *entry, const char *key, size_t max, const char **ret,
                     struct bh_error *error)
{
        struct bh_json_at at;

        if (bh_json_require(entry, key, &at, error) < 0)
                return -1;
        return bh_json_string(&at, 1, max, ret, error);
}

static int read_principal(const struct bh_json_at *entry, struct bh_caller *ret,
                          struct bh_error *error)
{
        const char *sha256, *role, *tenant, *name;

        if (read_text(entry, "sha256", BH_SHA256_HEX_SIZE - 1, &sha256, error) < 0 ||
            read_text(entry, "role", BH_NAME_SIZE, &role, error) < 0 ||
            read_text(entry, "tenant", BH_NAME_SIZE, &tenant, error) < 0 ||
            read_text(entry, "name", BH_NAME_SIZE, &name, error) < 0)
                return -1;
        if (strlen(sha256) != BH_SHA256_HEX_SIZE - 1 || !bh_role_by_name(role))
                return bh_json_fail(entry, error, "not a principal");
        memcpy(ret->sha256, sha256, BH_SHA256_HEX_SIZE);
        ret->role = bh_role_by_name(role);
        ret->tenant = bh_strdup(tenant);
        ret->name = bh_strdup(name);
        return 0;
}

int bh_callers_replace(struct bh_callers *callers, const json_t *message, struct bh_error *error)
{
        struct bh_callers fresh = {.count = 0};
        struct bh_json_at root = BH_JSON_ROOT(message), tokens;
        size_t count;

        if (bh_json_require(&root, "tokens", &tokens, error) < 0 ||
            bh_json_array(&tokens, 0, 100000, &count, error) < 0)
                return -1;
        fresh.list = bh_alloc_array(count ? count : 1, sizeof(*fresh.list));
        for (size_t i = 0; i < count; i++) {
                struct bh_json_at entry = bh_json_element(&tokens, i);

                if (read_principal(&entry, &fresh.list[i], error) < 0) {
                        bh_callers_clear(&fresh);
                        return -1;
                }
                fresh.count++;
        }
        bh_callers_clear(callers);
        *callers = fresh;
        return 0;
}
