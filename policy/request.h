/* An execution request as policy sees it: the body of POST /v1/executions without the bytes
 * of files and stdin, which travel beside it in a sealed memfd (docs/architecture.md,
 * "Payload"). */
#ifndef BULKHEAD_POLICY_REQUEST_H
#define BULKHEAD_POLICY_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "policy/limits.h"
#include "policy/tier.h"

#define BH_ARGV_MAX       1024
#define BH_ARGV_BYTES_MAX ((size_t)128 << 10)
#define BH_FILES_MAX      1024
#define BH_PAYLOAD_MAX    ((size_t)8 << 20) /* decoded bytes of files and stdin together */

struct bh_file_entry {
        char *path;      /* relative, no empty, "." or ".." component */
        mode_t mode;     /* 0000-0777; default 0644 */
        uint64_t offset; /* where its bytes lie in the payload */
        uint64_t length;
};

struct bh_request {
        char *agent;
        char **argv; /* NULL-terminated */
        size_t argc;
        char *cwd;           /* absolute, normalised; default "/workspace" */
        json_t *environment; /* object name → string */
        char *image;         /* default "host" */
        char *workspace;     /* NULL: an ephemeral one */
        struct bh_file_entry *files;
        size_t file_count;
        bool has_stdin;
        uint64_t stdin_offset, stdin_length;
        struct bh_limits limits;
        bool has_min_tier;
        enum bh_tier min_tier;
        json_t *labels;
};

/* Decodes the wire form: as in api/openapi.json, but `stdin` and each of `files` hold
 * {"offset": n, "length": n} in place of data and encoding. payload_size bounds them. */
int bh_request_decode(const struct bh_json_at *at, const struct bh_limit_policy *limits,
                      uint64_t payload_size, struct bh_request **ret, struct bh_error *error);
void bh_request_free(struct bh_request *request);
BH_DEFINE_CLEANUP(struct bh_request *, bh_request, bh_request_free);

/* A path of a file beneath the workspace: relative, at most 4095 bytes, components of at most
 * 255, none of them empty, "." or "..", no control characters. */
bool bh_relative_path_valid(const char *path);

#endif
