/* The audit log: append-only JSON lines under state_dir/audit, each entry tied to the one before
 * by its hash, one file after another of about BH_AUDIT_FILE_MAX bytes, named by the sequence
 * number of its first entry.
 *
 * Entries of a turn are buffered; commit.c stages them in the store's transaction, which makes
 * them durable together with what they record, then has them appended here. The file itself is
 * synced a little later, and only then does the store forget them; a start appends what a crash
 * kept from the file. */
#ifndef BULKHEAD_BROKER_DAEMON_AUDIT_H
#define BULKHEAD_BROKER_DAEMON_AUDIT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/json.h"

struct bh_audit;

#define BH_AUDIT_FILE_MAX ((int64_t)16 << 20) /* bytes; a new file begins past it */

/* Opens the log in directory (borrowed), checks the chain of the last two files, and cuts off a
 * last line that a crash left unfinished (*ret_cut bytes). A broken chain is an error: a log that
 * was tampered with is not written on. */
int bh_audit_open(int directory, int64_t file_max, struct bh_audit **ret, int64_t *ret_cut,
                  struct bh_error *error);
/* Appends an entry that was staged and did not reach the file; one that did is left out. */
int bh_audit_restore(struct bh_audit *audit, int64_t sequence, const char *line,
                     struct bh_error *error);
void bh_audit_free(struct bh_audit *audit);
BH_DEFINE_CLEANUP(struct bh_audit *, bh_audit, bh_audit_free);

/* Takes subject and detail (NULL: {}). actor is "broker" or a token ("operator:default/name"). */
void bh_audit_add_take(struct bh_audit *audit, const char *actor, const char *action,
                       json_t *subject, json_t *detail);

/* Whether this turn added entries, and each of them. */
bool bh_audit_is_dirty(const struct bh_audit *audit);
typedef int (*bh_audit_visit)(int64_t sequence, const char *line, void *data,
                              struct bh_error *error);
int bh_audit_each_new(const struct bh_audit *audit, bh_audit_visit visit, void *data,
                      struct bh_error *error);

/* The turn was stored, or it was not and its entries are forgotten. */
void bh_audit_accept(struct bh_audit *audit);
void bh_audit_rollback(struct bh_audit *audit);

/* Appends what was accepted. On failure it stays to be written by the next call. */
int bh_audit_write(struct bh_audit *audit, struct bh_error *error);
bool bh_audit_is_written(const struct bh_audit *audit);
/* Last entry that is in the file; after a sync all of these are on the disk. */
int64_t bh_audit_written(const struct bh_audit *audit);
int bh_audit_sync(struct bh_audit *audit, struct bh_error *error);

/* Entries after sequence `after`, oldest first, at most limit, as an array. */
int bh_audit_read(struct bh_audit *audit, int64_t after, size_t limit, json_t **ret,
                  struct bh_error *error);

#endif
