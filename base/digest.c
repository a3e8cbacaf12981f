/* SHA-256; see digest.h. The only file that uses libcrypto. */
#include "base/digest.h"

#include <openssl/evp.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/json.h"

void bh_sha256_hex(const void *data, size_t size, char ret[BH_SHA256_HEX_SIZE])
{
        static const char digits[] = "0123456789abcdef";
        unsigned char hash[EVP_MAX_MD_SIZE];
        unsigned int length = 0;

        /* Fails only for want of memory or of the algorithm, which libcrypto always has. */
        if (EVP_Digest(data, size, hash, &length, EVP_sha256(), NULL) != 1)
                bh_alloc_failed();
        for (size_t i = 0; i < length; i++) {
                ret[2 * i] = digits[hash[i] >> 4];
                ret[2 * i + 1] = digits[hash[i] & 0xf];
        }
        ret[2 * (size_t)length] = '\0';
}

void bh_json_digest(const json_t *json, char ret[BH_DIGEST_TEXT_SIZE])
{
        static const char prefix[] = "sha256:";
        _cleanup_free_ char *text = bh_json_canonical(json);

        memcpy(ret, prefix, sizeof(prefix));
        bh_sha256_hex(text, strlen(text), ret + sizeof(prefix) - 1);
}
