/* Host names and host patterns: normalising, covering. Part of egress.h; called by rule and
 * secret binding decoding and by matching. */
#include "policy/host_name.h"

#include <string.h>

#define LABEL_LENGTH_MAX 63  /* RFC 1035 §2.3.4 */
#define NAME_LENGTH_MAX  253 /* without the root's dot */

/* Letters, digits and inner hyphens (RFC 952, RFC 1123 §2.1). Names that DNS could hold but
 * no host has ("_dmarc") are refused: no rule may need them. */
static bool label_valid(const char *label, size_t length)
{
        if (length < 1 || length > LABEL_LENGTH_MAX || label[0] == '-' || label[length - 1] == '-')
                return false;
        for (size_t i = 0; i < length; i++)
                if (!(label[i] >= 'a' && label[i] <= 'z') &&
                    !(label[i] >= '0' && label[i] <= '9') && label[i] != '-')
                        return false;
        return true;
}

/* A name whose last label is a number is an IPv4 address to many parsers: 127.1, 0x7f.1,
 * 2130706433 (WHATWG URL, "ends in a number"). */
static bool label_is_number(const char *label)
{
        if (label[strspn(label, "0123456789")] == '\0')
                return true;
        return label[0] == '0' && label[1] == 'x' &&
               label[2 + strspn(label + 2, "0123456789abcdef")] == '\0';
}

int bh_host_normalise(const char *text, char ret[BH_HOST_SIZE])
{
        char name[BH_HOST_SIZE];
        size_t length = strnlen(text, NAME_LENGTH_MAX + 2);

        if (length > 0 && text[length - 1] == '.')
                length--;
        if (length < 1 || length > NAME_LENGTH_MAX)
                return -1;
        for (size_t i = 0; i < length; i++)
                name[i] =
                        (char)(text[i] >= 'A' && text[i] <= 'Z' ? text[i] + ('a' - 'A') : text[i]);
        name[length] = '\0';

        const char *label = name;
        for (;;) {
                size_t label_length = strcspn(label, ".");

                if (!label_valid(label, label_length))
                        return -1;
                if (label[label_length] == '\0')
                        break;
                label += label_length + 1;
        }
        if (label_is_number(label))
                return -1;
        memcpy(ret, name, length + 1);
        return 0;
}

bool bh_host_below(const char *host, const char *suffix)
{
        size_t host_length = strlen(host), suffix_length = strlen(suffix);

        return host_length > suffix_length + 1 && host[host_length - suffix_length - 1] == '.' &&
               strcmp(host + host_length - suffix_length, suffix) == 0;
}

int bh_host_pattern_decode(const struct bh_json_at *at, const char *text, char ret[BH_HOST_SIZE],
                           bool *ret_wildcard, struct bh_error *error)
{
        char host[BH_HOST_SIZE];
        bool wildcard = text[0] == '*' && text[1] == '.';

        if (bh_host_normalise(wildcard ? text + 2 : text, host) < 0)
                return bh_json_fail(at, error,
                                    "a host is a name such as api.example.com, or *.example.com: "
                                    "labels of letters, digits and inner hyphens (IDNs as "
                                    "A-labels); no scheme, port, path or address");
        if (wildcard && !strchr(host, '.'))
                return bh_json_fail(at, error, "a wildcard needs at least two labels after \"*.\"");
        if (strcmp(host, "localhost") == 0 || bh_host_below(host, "localhost"))
                return bh_json_fail(at, error,
                                    "localhost is the workload's own and needs no rule; the "
                                    "host's is never reachable");
        memcpy(ret, host, sizeof(host));
        *ret_wildcard = wildcard;
        return 0;
}
