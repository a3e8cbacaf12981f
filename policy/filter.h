/* Ports, methods and paths: the three narrowings that an egress rule and a secret binding
 * share. Called by egress and secret_binding only. */
#ifndef BULKHEAD_POLICY_FILTER_H
#define BULKHEAD_POLICY_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json.h"

/* 1 to 64 distinct ports, 1-65535; sorted. */
int bh_ports_decode(const struct bh_json_at *at, uint16_t **ret, size_t *ret_count,
                    struct bh_error *error);
json_t *bh_ports_encode(const uint16_t *ports, size_t count);
bool bh_ports_contain(const uint16_t *ports, size_t count, uint16_t port);

/* 1 to 32 distinct methods: upper-case tokens (RFC 9110 §9.1, methods are case-sensitive). */
int bh_methods_decode(const struct bh_json_at *at, char ***ret, size_t *ret_count,
                      struct bh_error *error);

/* 1 to 64 distinct paths: each begins with '/', '*' only as its last character, no query,
 * fragment, "." or ".." segment, control character or white space. */
int bh_paths_decode(const struct bh_json_at *at, char ***ret, size_t *ret_count,
                    struct bh_error *error);

bool bh_methods_allow(char *const *methods, size_t count, const char *method);
bool bh_paths_allow(char *const *paths, size_t count, const char *path);

/* A token of RFC 9110 §5.6.2. */
bool bh_token_valid(const char *text);

#endif
