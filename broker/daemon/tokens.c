/* The tokens that are known. */
#include "broker/daemon/tokens.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"

#define TOKEN_RANDOM_BYTES 32

static int add(const struct bh_token_row *row, void *data, struct bh_error *error)
{
        (void)error;
        struct bh_tokens *tokens = data;
        tokens->items = bh_realloc_array(tokens->items, tokens->count + 1, sizeof(*tokens->items));
        struct bh_token *token = &tokens->items[tokens->count++];
        *token = (struct bh_token){.principal.role = row->role, .expires_ms = row->expires_ms};
        memcpy(token->sha256, row->sha256, sizeof(token->sha256));
        snprintf(token->principal.name, sizeof(token->principal.name), "%s", row->name);
        snprintf(token->principal.tenant, sizeof(token->principal.tenant), "%s", row->tenant);
        return 0;
}

int bh_tokens_load(struct bh_tokens *tokens, struct bh_store *store, struct bh_error *error)
{
        struct bh_tokens loaded = {0};
        if (bh_store_token_list(store, add, &loaded, error) < 0) {
                bh_tokens_clear(&loaded);
                return -1;
        }
        bh_tokens_clear(tokens);
        *tokens = loaded;
        return 0;
}

void bh_tokens_clear(struct bh_tokens *tokens)
{
        free(tokens->items);
        *tokens = (struct bh_tokens){0};
}

static void make_text(char ret[BH_SHA256_HEX_SIZE + 8])
{
        unsigned char random[TOKEN_RANDOM_BYTES];
        bh_random_bytes(random, sizeof(random));
        char *at = ret + sprintf(ret, "bht_");
        for (size_t i = 0; i < sizeof(random); i++)
                at += sprintf(at, "%02x", random[i]);
        explicit_bzero(random, sizeof(random));
}

static int make(struct bh_store *store, int directory, enum bh_role role, struct bh_error *error)
{
        char text[BH_SHA256_HEX_SIZE + 8];
        char name[BH_NAME_SIZE], tenant[] = BH_DEFAULT_TENANT;
        struct bh_token_row row = {
                .name = name, .role = role, .tenant = tenant, .created_ms = bh_realtime_ms()};
        make_text(text);
        snprintf(name, sizeof(name), "%s", bh_role_name(role));
        bh_sha256_hex(text, strlen(text), row.sha256);
        size_t length = strlen(text);
        text[length] = '\n'; /* in place of the NUL: the file is a line */
        int r = bh_write_file_atomic(directory, name, text, length + 1, 0600, error);
        explicit_bzero(text, sizeof(text));
        return r < 0 ? -1 : bh_store_token_put(store, &row, error);
}

int bh_tokens_bootstrap(struct bh_store *store, int directory, struct bh_error *error)
{
        static const enum bh_role roles[] = {BH_ROLE_OPERATOR, BH_ROLE_ORCHESTRATOR,
                                             BH_ROLE_AUDITOR};
        struct bh_tokens tokens = {0};
        if (bh_tokens_load(&tokens, store, error) < 0)
                return -1;
        size_t count = tokens.count;
        bh_tokens_clear(&tokens);
        if (count > 0)
                return 0;
        for (size_t i = 0; i < sizeof(roles) / sizeof(roles[0]); i++)
                if (make(store, directory, roles[i], error) < 0)
                        return bh_error_prefix(error, "first tokens");
        return (int)(sizeof(roles) / sizeof(roles[0]));
}

static bool is_current(const struct bh_token *token, int64_t now_ms)
{
        return token->expires_ms == 0 || token->expires_ms > now_ms;
}

const struct bh_principal *bh_tokens_find(const struct bh_tokens *tokens, const char *sha256,
                                          int64_t now_ms)
{
        const struct bh_principal *found = NULL;
        for (size_t i = 0; i < tokens->count; i++) {
                const struct bh_token *token = &tokens->items[i];
                if (bh_equal_constant_time(token->sha256, sha256) && is_current(token, now_ms))
                        found = &token->principal;
        }
        return found;
}

json_t *bh_tokens_encode(const struct bh_tokens *tokens, int64_t now_ms)
{
        json_t *array = json_array();
        for (size_t i = 0; i < tokens->count; i++) {
                const struct bh_token *token = &tokens->items[i];
                if (is_current(token, now_ms))
                        json_array_append_new(array,
                                              json_pack("{ssssssss}", "sha256", token->sha256,
                                                        "role", bh_role_name(token->principal.role),
                                                        "tenant", token->principal.tenant, "name",
                                                        token->principal.name));
        }
        return array;
}
