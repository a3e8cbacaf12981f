/* The vocabulary of capabilities and sets of them. Called by agent, policy file and plan
 * decoding, and by the decision for its reasons. */
#include "policy/capability.h"

/* Ends in NULL so that it is also bh_json_choice's list. */
static const char *const capability_names[] = {
        [BH_CAP_COMMAND_RUN] = "command.run",
        [BH_CAP_CODE_EXECUTE] = "code.execute",
        [BH_CAP_PACKAGE_INSTALL] = "package.install",
        [BH_CAP_FS_WORKSPACE_READ] = "fs.workspace.read",
        [BH_CAP_FS_WORKSPACE_WRITE] = "fs.workspace.write",
        [BH_CAP_FS_MOUNT_READ] = "fs.mount.read",
        [BH_CAP_FS_MOUNT_WRITE] = "fs.mount.write",
        [BH_CAP_NET_EGRESS] = "net.egress",
        [BH_CAP_SECRETS_USE] = "secrets.use",
        [BH_CAP_INPUT_UNTRUSTED] = "input.untrusted",
        [BH_CAP_PROCESS_DEBUG] = "process.debug",
        [BH_CAP_ROOT_INSIDE] = "root.inside",
        [BH_CAP_COUNT] = NULL,
};

const char *bh_capability_name(enum bh_capability capability)
{
        return capability_names[capability];
}

int bh_capability_set_decode(const struct bh_json_at *at, bh_capability_set *ret,
                             struct bh_error *error)
{
        bh_capability_set set = 0;
        size_t count;

        /* One more than there are, so that a repeated name is told as such. */
        if (bh_json_array(at, 0, BH_CAP_COUNT + 1, &count, error) < 0)
                return -1;
        for (size_t i = 0; i < count; i++) {
                struct bh_json_at element = bh_json_element(at, i);
                int capability;

                if (bh_json_choice(&element, capability_names, &capability, error) < 0)
                        return -1;
                if (set & BH_CAP_BIT(capability))
                        return bh_json_fail(&element, error, "capability %s is listed twice",
                                            capability_names[capability]);
                set |= BH_CAP_BIT(capability);
        }
        *ret = set;
        return 0;
}

json_t *bh_capability_set_encode(bh_capability_set set)
{
        json_t *names = json_array();

        for (int i = 0; i < BH_CAP_COUNT; i++)
                if (set & BH_CAP_BIT(i))
                        json_array_append_new(names, json_string(capability_names[i]));
        return names;
}
