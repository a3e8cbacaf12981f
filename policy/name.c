/* Names that people choose, labels, owners, and names of environment variables. Called by the
 * decoders of this folder, and by api and broker for names in paths. */
#include "policy/name.h"

#include <string.h>
#include <strings.h>

#define LABELS_MAX            32
#define LABEL_KEY_MAX         63
#define LABEL_VALUE_MAX       256
#define OWNER_MAX             256
#define ENVIRONMENT_MAX       512
#define ENVIRONMENT_NAME_MAX  256
#define ENVIRONMENT_BYTES_MAX ((size_t)128 << 10) /* Linux: MAX_ARG_STRLEN for one string */

#define LOWER_AND_DIGITS      "abcdefghijklmnopqrstuvwxyz0123456789"
#define UPPER                 "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

/* What the gateway sets so that a client finds the proxy; read in either case. */
static const char *const proxy_names[] = {
        "HTTP_PROXY",  "HTTPS_PROXY", "ALL_PROXY",   "NO_PROXY", "FTP_PROXY",
        "SOCKS_PROXY", "GRPC_PROXY",  "RSYNC_PROXY", "WS_PROXY", "WSS_PROXY",
};

/* Where tools look for the authorities they trust. */
static const char *const authority_names[] = {
        "SSL_CERT_FILE",
        "SSL_CERT_DIR",
        "NIX_SSL_CERT_FILE",
        "REQUESTS_CA_BUNDLE",
        "CURL_CA_BUNDLE",
        "AWS_CA_BUNDLE",
        "PIP_CERT",
        "GIT_SSL_CAINFO",
        "GIT_SSL_CAPATH",
        "GIT_PROXY_SSL_CAINFO",
        "NODE_EXTRA_CA_CERTS",
        "NPM_CONFIG_CAFILE",
        "NPM_CONFIG_CA",
        "CARGO_HTTP_CAINFO",
        "DENO_CERT",
        "BUNDLE_SSL_CA_CERT",
        "HTTPLIB2_CA_CERTS",
        "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH",
        "HEX_CACERTS_PATH",
        "PERL_LWP_SSL_CA_FILE",
        "PERL_LWP_SSL_CA_PATH",
        "HTTPS_CA_FILE",
        "HTTPS_CA_DIR",
};

static const char *const reserved_prefixes[] = {"LD_", "BULKHEAD_"};

bool bh_name_valid(const char *name)
{
        size_t length = strnlen(name, BH_NAME_SIZE);

        return length > 0 && length < BH_NAME_SIZE && strchr(LOWER_AND_DIGITS, name[0]) &&
               strspn(name, LOWER_AND_DIGITS "._-") == length;
}

int bh_name_decode(const struct bh_json_at *at, const char **ret, struct bh_error *error)
{
        const char *name;

        if (bh_json_string(at, 1, BH_NAME_SIZE - 1, &name, error) < 0)
                return -1;
        if (!bh_name_valid(name))
                return bh_json_fail(at, error,
                                    "a name is lower-case letters, digits, '.', '_' and '-', and "
                                    "begins with a letter or digit");
        *ret = name;
        return 0;
}

bool bh_text_printable(const char *text)
{
        for (const unsigned char *p = (const unsigned char *)text; *p; p++)
                if (*p < 0x20 || *p == 0x7f)
                        return false;
        return true;
}

int bh_owner_decode(const struct bh_json_at *at, const char **ret, struct bh_error *error)
{
        const char *owner;

        if (bh_json_string(at, 1, OWNER_MAX, &owner, error) < 0)
                return -1;
        if (!bh_text_printable(owner) || owner[strspn(owner, " ")] == '\0')
                return bh_json_fail(at, error,
                                    "an owner is printable text, such as a mail address");
        *ret = owner;
        return 0;
}

int bh_labels_decode(const struct bh_json_at *at, json_t **ret, struct bh_error *error)
{
        const char *key;
        json_t *value;

        if (!json_is_object(at->value))
                return bh_json_fail(at, error, "labels are an object of strings");
        if (json_object_size(at->value) > LABELS_MAX)
                return bh_json_fail(at, error, "at most %d labels", LABELS_MAX);
        json_object_foreach ((json_t *)at->value, key, value) {
                struct bh_json_at label = {.value = value, .parent = at, .key = key};
                size_t length = strlen(key);
                const char *text;

                if (length < 1 || length > LABEL_KEY_MAX ||
                    strspn(key, UPPER LOWER_AND_DIGITS "._/-") != length)
                        return bh_json_fail(&label, error,
                                            "a label's key is 1 to %d letters, digits, '.', '_', "
                                            "'/' and '-'",
                                            LABEL_KEY_MAX);
                if (bh_json_string(&label, 0, LABEL_VALUE_MAX, &text, error) < 0)
                        return -1;
        }
        *ret = json_deep_copy(at->value);
        return 0;
}

static bool name_in(const char *name, const char *const names[], size_t count)
{
        for (size_t i = 0; i < count; i++)
                if (strcasecmp(name, names[i]) == 0)
                        return true;
        return false;
}

static bool environment_name_reserved(const char *name)
{
        for (size_t i = 0; i < sizeof(reserved_prefixes) / sizeof(*reserved_prefixes); i++)
                if (strncmp(name, reserved_prefixes[i], strlen(reserved_prefixes[i])) == 0)
                        return true;
        return name_in(name, proxy_names, sizeof(proxy_names) / sizeof(*proxy_names)) ||
               name_in(name, authority_names, sizeof(authority_names) / sizeof(*authority_names));
}

static int check_environment_name(const struct bh_json_at *at, const char *name,
                                  struct bh_error *error)
{
        size_t length = strlen(name);

        if (length < 1 || length > ENVIRONMENT_NAME_MAX)
                return bh_json_fail(at, error, "a variable's name has 1 to %d bytes",
                                    ENVIRONMENT_NAME_MAX);
        if (!bh_text_printable(name) || strpbrk(name, " ="))
                return bh_json_fail(at, error,
                                    "a variable's name holds no '=', white space or control "
                                    "character");
        if (environment_name_reserved(name))
                return bh_json_fail(at, error, "%s is reserved for the boundary itself", name);
        return 0;
}

int bh_environment_decode(const struct bh_json_at *at, json_t **ret, struct bh_error *error)
{
        const char *name;
        json_t *value;
        size_t bytes = 0;

        if (!json_is_object(at->value))
                return bh_json_fail(at, error, "the environment is an object of strings");
        if (json_object_size(at->value) > ENVIRONMENT_MAX)
                return bh_json_fail(at, error, "at most %d variables", ENVIRONMENT_MAX);
        json_object_foreach ((json_t *)at->value, name, value) {
                struct bh_json_at variable = {.value = value, .parent = at, .key = name};
                const char *text;

                if (check_environment_name(&variable, name, error) < 0 ||
                    bh_json_string(&variable, 0, ENVIRONMENT_BYTES_MAX, &text, error) < 0)
                        return -1;
                bytes += strlen(name) + strlen(text) + 2;
                if (bytes > ENVIRONMENT_BYTES_MAX)
                        return bh_json_fail(at, error, "the environment has more than %zu bytes",
                                            ENVIRONMENT_BYTES_MAX);
        }
        *ret = json_deep_copy(at->value);
        return 0;
}
