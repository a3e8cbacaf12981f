/* SHA-256; see digest.h. The only file that uses libcrypto.
 *
 * By its plain functions: the first EVP call sets up all of OpenSSL, which costs a process that
 * hashes once (each shim) 0.7 ms and 3 MB. They are marked deprecated because they know no
 * providers; nothing here needs one. */
#define OPENSSL_SUPPRESS_DEPRECATED
#include "base/digest.h"

#include <openssl/sha.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"

void bh_sha256_hex(const void *data, size_t size, char ret[BH_SHA256_HEX_SIZE])
{
        static const char digits[] = "0123456789abcdef";
        unsigned char hash[SHA256_DIGEST_LENGTH];
        SHA256_CTX context;

        SHA256_Init(&context);
        SHA256_Update(&context, data, size);
        SHA256_Final(hash, &context);
        for (size_t i = 0; i < sizeof(hash); i++) {
                ret[2 * i] = digits[hash[i] >> 4];
                ret[2 * i + 1] = digits[hash[i] & 0xf];
        }
        ret[2 * sizeof(hash)] = '\0';
}

void bh_json_digest(const json_t *json, char ret[BH_DIGEST_TEXT_SIZE])
{
        static const char prefix[] = "sha256:";
        _cleanup_free_ char *text = bh_json_canonical(json);

        memcpy(ret, prefix, sizeof(prefix));
        bh_sha256_hex(text, strlen(text), ret + sizeof(prefix) - 1);
}
