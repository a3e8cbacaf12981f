/* Paths as text: absolute and normalised, or relative beneath a workspace. Nothing here looks
 * at a file system. Called by mount, policy, request and plan decoding. */
#ifndef BULKHEAD_POLICY_PATH_H
#define BULKHEAD_POLICY_PATH_H

#include "base/json.h"

/* Begins with '/', at most 4095 bytes, components of at most 255, none of them empty, "." or
 * ".."; no trailing '/' but for "/" itself; no control characters. */
int bh_absolute_path_decode(const struct bh_json_at *at, const char **ret, struct bh_error *error);

#endif
