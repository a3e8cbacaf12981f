/* SHA-256 by OpenSSL, and comparing digests in constant time. Called for canonical JSON,
 * tokens and the audit chain. */
#ifndef BULKHEAD_BASE_DIGEST_H
#define BULKHEAD_BASE_DIGEST_H

#include <stdbool.h>
#include <stddef.h>

#define BH_SHA256_HEX_SIZE 65 /* 64 hex digits + NUL */

void bh_sha256_hex(const void *data, size_t size, char ret[BH_SHA256_HEX_SIZE]);

/* Equal texts, without telling by time where they differ. */
bool bh_equal_constant_time(const char *a, const char *b);

/* Base64 (RFC 4648, with padding; decoding refuses anything else). Caller frees. */
char *bh_base64_encode(const void *data, size_t size);
int bh_base64_decode(const char *text, size_t length, unsigned char **ret, size_t *ret_size);

/* size bytes from getrandom(2). */
void bh_random_bytes(void *buffer, size_t size);

#endif
