/* The audit log: append-only JSON lines under state_dir/audit, each entry tied to the one before
 * by its hash, one file after another of about BH_AUDIT_FILE_MAX bytes, named by the sequence
 * number of its first entry. Entries are buffered during a turn; bh_audit_commit makes them
 * durable before anything of that turn is acknowledged. */
#ifndef BULKHEAD_BROKER_DAEMON_AUDIT_H
#define BULKHEAD_BROKER_DAEMON_AUDIT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/json.h"

struct bh_audit;

#define BH_AUDIT_FILE_MAX ((int64_t)16 << 20) /* bytes; a new file begins past it */

/* Opens the log in directory (borrowed), checks the chain of the last two files, and cuts off a
 * last line that a crash left unfinished, which becomes an entry itself. A broken chain is an
 * error: a log that was tampered with is not written on. */
int bh_audit_open(int directory, int64_t file_max, struct bh_audit **ret, struct bh_error *error);
void bh_audit_free(struct bh_audit *audit);
BH_DEFINE_CLEANUP(struct bh_audit *, bh_audit, bh_audit_free);

/* Takes subject and detail (NULL: {}). actor is "broker" or a token ("operator:default/name"). */
void bh_audit_add_take(struct bh_audit *audit, const char *actor, const char *action,
                       json_t *subject, json_t *detail);

bool bh_audit_is_dirty(const struct bh_audit *audit);
/* Writes and fsyncs. On failure the entries stay buffered, and what was half written is cut. */
int bh_audit_commit(struct bh_audit *audit, struct bh_error *error);
/* Sequence number of the last entry, buffered ones included. */
int64_t bh_audit_last(const struct bh_audit *audit);

/* Entries after sequence `after`, oldest first, at most limit, as an array. */
int bh_audit_read(struct bh_audit *audit, int64_t after, size_t limit, json_t **ret,
                  struct bh_error *error);

/* Checks all files, first to last. ret_count: entries that are whole. */
int bh_audit_verify(int directory, int64_t *ret_count, struct bh_error *error);

#endif
