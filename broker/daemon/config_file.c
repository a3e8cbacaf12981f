/* The config file's document. Members whose feature is not built yet are checked all the same,
 * so that a file that is accepted today is not refused by the release that uses them. */
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "broker/daemon/config.h"
#include "policy/egress.h"

#define PATH_BYTES_MAX 4095

static int decode_path(const struct bh_json_at *object, const char *key, bool absolute, char **slot,
                       struct bh_error *error)
{
        struct bh_json_at at;
        const char *text = NULL;
        if (!bh_json_member(object, key, &at))
                return 0;
        if (bh_json_string(&at, 1, PATH_BYTES_MAX, &text, error) < 0)
                return -1;
        if (absolute && text[0] != '/')
                return bh_json_fail(&at, error, "must be an absolute path");
        if (slot) {
                free(*slot);
                *slot = bh_strdup(text);
        }
        return 0;
}

static int decode_strings(const struct bh_json_at *object, const char *key, size_t min,
                          struct bh_error *error)
{
        struct bh_json_at at;
        size_t count = 0;
        if (!bh_json_member(object, key, &at))
                return 0;
        if (bh_json_array(&at, min, 64, &count, error) < 0)
                return -1;
        for (size_t i = 0; i < count; i++) {
                struct bh_json_at item = bh_json_element(&at, i);
                const char *text = NULL;
                if (bh_json_string(&item, 1, 255, &text, error) < 0)
                        return -1;
        }
        return 0;
}

static int decode_listen(const struct bh_json_at *root, struct bh_config *config,
                         struct bh_error *error)
{
        struct bh_json_at at;
        size_t count = 0;
        if (!bh_json_member(root, "listen", &at))
                return 0;
        if (bh_json_array(&at, 1, 16, &count, error) < 0)
                return -1;
        config->listen = bh_alloc_array(count, sizeof(*config->listen));
        for (size_t i = 0; i < count; i++) {
                struct bh_json_at item = bh_json_element(&at, i);
                struct bh_error inner = {0};
                const char *text = NULL;
                if (bh_json_string(&item, 1, 255, &text, error) < 0)
                        return -1;
                if (bh_address_parse(text, &config->listen[i], &inner) < 0)
                        return bh_json_fail(&item, error, "%s", inner.message);
                config->listen_count++;
        }
        return 0;
}

static int decode_tls(const struct bh_json_at *root, struct bh_config *config,
                      struct bh_error *error)
{
        static const char *const members[] = {"certificate", "key", "client_ca", NULL};
        struct bh_json_at at, member;
        if (!bh_json_member(root, "tls", &at))
                return 0;
        if (bh_json_object(&at, members, error) < 0 ||
            bh_json_require(&at, "certificate", &member, error) < 0 ||
            bh_json_require(&at, "key", &member, error) < 0)
                return -1;
        if (decode_path(&at, "certificate", true, &config->tls_certificate, error) < 0 ||
            decode_path(&at, "key", true, &config->tls_key, error) < 0 ||
            decode_path(&at, "client_ca", true, &config->tls_client_ca, error) < 0)
                return -1;
        return 0;
}

static int decode_hosts(const struct bh_json_at *egress, struct bh_error *error)
{
        struct bh_json_at at;
        const char *name = NULL;
        json_t *value = NULL;
        if (!bh_json_member(egress, "hosts", &at))
                return 0;
        if (!json_is_object(at.value))
                return bh_json_fail(&at, error, "must be an object");
        json_object_foreach ((json_t *)at.value, name, value) {
                char normal[BH_HOST_SIZE];
                struct bh_json_at host = {value, &at, name, 0};
                size_t count = 0;
                if (bh_host_normalise(name, normal) < 0)
                        return bh_json_fail(&host, error, "is no host name");
                if (bh_json_array(&host, 1, 64, &count, error) < 0)
                        return -1;
                for (size_t i = 0; i < count; i++) {
                        struct bh_json_at item = bh_json_element(&host, i);
                        struct in6_addr address;
                        const char *text = NULL;
                        if (bh_json_string(&item, 1, 64, &text, error) < 0)
                                return -1;
                        if (inet_pton(AF_INET, text, &address) != 1 &&
                            inet_pton(AF_INET6, text, &address) != 1)
                                return bh_json_fail(&item, error, "is no IP address");
                }
        }
        return 0;
}

static int decode_egress(const struct bh_json_at *root, struct bh_error *error)
{
        static const char *const members[] = {"resolvers", "hosts", "upstream_ca", NULL};
        struct bh_json_at at, resolvers;
        size_t count = 0;
        if (!bh_json_member(root, "egress", &at))
                return 0;
        if (bh_json_object(&at, members, error) < 0)
                return -1;
        if (bh_json_member(&at, "resolvers", &resolvers)) {
                if (bh_json_array(&resolvers, 1, 16, &count, error) < 0)
                        return -1;
                for (size_t i = 0; i < count; i++) {
                        struct bh_json_at item = bh_json_element(&resolvers, i);
                        struct bh_address address = {0};
                        const char *text = NULL;
                        if (bh_json_string(&item, 1, 255, &text, error) < 0)
                                return -1;
                        if (bh_address_parse(text, &address, NULL) < 0 || address.is_unix) {
                                bh_address_clear(&address);
                                return bh_json_fail(&item, error, "expected IP:PORT");
                        }
                        bh_address_clear(&address);
                }
        }
        if (decode_hosts(&at, error) < 0)
                return -1;
        return decode_path(&at, "upstream_ca", true, NULL, error);
}

static int decode_drivers(const struct bh_json_at *root, struct bh_error *error)
{
        static const char *const members[] = {"container", "vm", NULL};
        static const char *const container_members[] = {"runtimes", NULL};
        static const char *const vm_members[] = {"uri", "acceleration", NULL};
        static const char *const accelerations[] = {"auto", "kvm", "tcg", NULL};
        struct bh_json_at at, container, vm, member;
        const char *text = NULL;
        int choice = 0;
        if (!bh_json_member(root, "drivers", &at))
                return 0;
        if (bh_json_object(&at, members, error) < 0)
                return -1;
        if (bh_json_member(&at, "container", &container) &&
            (bh_json_object(&container, container_members, error) < 0 ||
             decode_strings(&container, "runtimes", 1, error) < 0))
                return -1;
        if (!bh_json_member(&at, "vm", &vm))
                return 0;
        if (bh_json_object(&vm, vm_members, error) < 0)
                return -1;
        if (bh_json_member(&vm, "uri", &member) &&
            bh_json_string(&member, 1, 1024, &text, error) < 0)
                return -1;
        if (bh_json_member(&vm, "acceleration", &member))
                return bh_json_choice(&member, accelerations, &choice, error);
        return 0;
}

static int decode_secrets(const struct bh_json_at *root, struct bh_error *error)
{
        static const char *const members[] = {"vault", NULL};
        static const char *const vault_members[] = {"address", "token_file", NULL};
        struct bh_json_at at, vault, member;
        const char *text = NULL;
        if (!bh_json_member(root, "secrets", &at))
                return 0;
        if (bh_json_object(&at, members, error) < 0)
                return -1;
        if (!bh_json_member(&at, "vault", &vault))
                return 0;
        if (bh_json_object(&vault, vault_members, error) < 0 ||
            bh_json_require(&vault, "address", &member, error) < 0 ||
            bh_json_string(&member, 1, 1024, &text, error) < 0)
                return -1;
        if (strncmp(text, "https://", 8) != 0 || text[8] == 0)
                return bh_json_fail(&member, error, "must be an https:// address");
        return decode_path(&vault, "token_file", true, NULL, error);
}

static int decode_integer(const struct bh_json_at *object, const char *key, int64_t min,
                          int64_t max, int64_t *slot, struct bh_error *error)
{
        struct bh_json_at at;
        if (!bh_json_member(object, key, &at))
                return 0;
        return bh_json_integer(&at, min, max, slot, error);
}

static int decode_executions(const struct bh_json_at *root, struct bh_config *config,
                             struct bh_error *error)
{
        static const char *const members[] = {"concurrent",  "queued",       "spares",
                                              "retain_days", "retain_count", NULL};
        struct bh_json_at at;
        if (!bh_json_member(root, "executions", &at))
                return 0;
        if (bh_json_object(&at, members, error) < 0 ||
            decode_integer(&at, "concurrent", 1, 10000, &config->concurrent, error) < 0 ||
            decode_integer(&at, "queued", 0, 100000, &config->queued, error) < 0 ||
            decode_integer(&at, "spares", 2, 256, &config->spares, error) < 0 ||
            /* An idempotency key answers for 24 h, so its execution stays at least that long. */
            decode_integer(&at, "retain_days", 1, 3650, &config->retain_days, error) < 0 ||
            decode_integer(&at, "retain_count", 1, 10000000, &config->retain_count, error) < 0)
                return -1;
        return 0;
}

int bh_config_decode(const struct bh_json_at *at, struct bh_config *config, struct bh_error *error)
{
        static const char *const members[] = {"state_dir",  "run_dir",  "listen",  "policy",
                                              "tls",        "egress",   "drivers", "secrets",
                                              "executions", "uid_base", NULL};
        int64_t uid_base = config->uid_base;
        if (bh_json_object(at, members, error) < 0 ||
            decode_path(at, "state_dir", true, &config->state_dir, error) < 0 ||
            decode_path(at, "run_dir", true, &config->run_dir, error) < 0 ||
            decode_path(at, "policy", true, &config->policy, error) < 0 ||
            decode_listen(at, config, error) < 0 || decode_tls(at, config, error) < 0 ||
            decode_egress(at, error) < 0 || decode_drivers(at, error) < 0 ||
            decode_secrets(at, error) < 0 || decode_executions(at, config, error) < 0 ||
            /* Pairs up to the last slot must stay below 2^31, which some tools take as signed. */
            decode_integer(at, "uid_base", 65536, 2147400000, &uid_base, error) < 0)
                return -1;
        config->uid_base = (uid_t)uid_base;
        return 0;
}
