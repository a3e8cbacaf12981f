/* Names that people choose: agent, workspace, secret, image, tenant, token
 * (`[a-z0-9]([a-z0-9._-]{0,62})`), owners, labels, and names of environment variables. Because
 * of this alphabet a name may stand in a path component, a cgroup or a log line as it is;
 * "." and ".." cannot be spelled. */
#ifndef BULKHEAD_POLICY_NAME_H
#define BULKHEAD_POLICY_NAME_H

#include <stdbool.h>

#include "base/json.h"

#define BH_NAME_SIZE 64 /* with NUL */

bool bh_name_valid(const char *name);
int bh_name_decode(const struct bh_json_at *at, const char **ret, struct bh_error *error);

/* No control characters. */
bool bh_text_printable(const char *text);

/* Who answers for an agent or a posture dimension: 1 to 256 bytes of printable text. */
int bh_owner_decode(const struct bh_json_at *at, const char **ret, struct bh_error *error);

/* An object of at most 32 labels: keys [a-zA-Z0-9._/-]{1,63}, string values of at most 256
 * bytes. Returns a new reference. */
int bh_labels_decode(const struct bh_json_at *at, json_t **ret, struct bh_error *error);

/* Refuses malformed names (empty, '=', white space, control characters) and the reserved ones
 * (proxy and CA variables, LD_*, BULKHEAD_*; either case where tools read either). */
int bh_environment_decode(const struct bh_json_at *at, json_t **ret, struct bh_error *error);

#endif
