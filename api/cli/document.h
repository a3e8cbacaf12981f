/* JSON documents that the user names. Called by agents apply. */
#ifndef BULKHEAD_API_CLI_DOCUMENT_H
#define BULKHEAD_API_CLI_DOCUMENT_H

#include <jansson.h>

#include "base/error.h"

/* path "-": standard input. The error names the file and the place in it. */
int bh_document_read(const char *path, json_t **ret, struct bh_error *error);

#endif
