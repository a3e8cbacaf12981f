/* Fuzzes an agent's declaration. What is accepted comes back the same from its own encoding,
 * holds no scope without its capability, and can be decided upon. */
#include "support.h"

static const struct bh_request *plain_request(void)
{
        static struct bh_request *request;
        _cleanup_json_ json_t *body = json_pack("{s:s, s:[s]}", "agent", "a", "argv", "true");

        if (!request)
                require(bh_request_decode(&BH_JSON_ROOT(body), &builtin_policy()->limits, 0,
                                          &request, NULL) == 0);
        return request;
}

static void check_scopes(const struct bh_capabilities *capabilities)
{
        bh_capability_set set = capabilities->set;

        require(capabilities->egress.count == 0 || (set & BH_CAP_BIT(BH_CAP_NET_EGRESS)));
        require(capabilities->secrets.count == 0 || (set & BH_CAP_BIT(BH_CAP_SECRETS_USE)));
        for (size_t i = 0; i < capabilities->mounts.count; i++) {
                const struct bh_mount_rule *rule = &capabilities->mounts.items[i];

                require(set &
                        BH_CAP_BIT(rule->writable ? BH_CAP_FS_MOUNT_WRITE : BH_CAP_FS_MOUNT_READ));
                require(!rule->writable || rule->justification);
        }
        for (size_t i = 0; i < capabilities->secrets.count; i++) {
                const struct bh_secret_binding *binding = &capabilities->secrets.items[i];

                for (size_t k = 0; k < binding->host_count; k++)
                        require(bh_egress_covers(&capabilities->egress, binding->hosts[k],
                                                 binding->ports, binding->port_count));
        }
}

static void check_spec(const struct bh_agent_spec *spec)
{
        _cleanup_json_ json_t *encoded = bh_capabilities_encode(&spec->capabilities);
        _cleanup_(bh_agent_spec_cleanup) struct bh_agent_spec *again = NULL;
        char digest[BH_DIGEST_TEXT_SIZE], digest_again[BH_DIGEST_TEXT_SIZE];

        require(bh_agent_spec_decode(&BH_JSON_ROOT(encoded), &again, NULL) == 0);
        _cleanup_json_ json_t *reencoded = bh_capabilities_encode(&again->capabilities);
        require(json_equal(encoded, reencoded));
        bh_capabilities_digest(&spec->capabilities, digest);
        bh_capabilities_digest(&again->capabilities, digest_again);
        require(strcmp(digest, digest_again) == 0);
        _cleanup_json_ json_t *added =
                bh_capabilities_added(&spec->capabilities, &again->capabilities);
        require(json_array_size(added) == 0);
        check_scopes(&spec->capabilities);
        check_decision(&spec->capabilities, plain_request());
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        _cleanup_json_ json_t *document = parse(data, size);
        _cleanup_(bh_agent_spec_cleanup) struct bh_agent_spec *spec = NULL;
        struct bh_error error = {0};

        if (!document)
                return 0;
        if (bh_agent_spec_decode(&BH_JSON_ROOT(document), &spec, &error) < 0)
                check_refusal(&error);
        else
                check_spec(spec);
        return 0;
}
