/* Which runtime a probe found to work for a tier, kept in run_dir/runtime: written by bulkheadd,
 * read by every shim. A probe costs up to a second; what it found holds until a runtime's file
 * changes, comes or goes, until a shim doubts it, or for some minutes. Used by container.c and
 * probe.c. */
#ifndef BULKHEAD_DRIVERS_CONTAINER_CHOICE_H
#define BULKHEAD_DRIVERS_CONTAINER_CHOICE_H

#include "base/json.h"
#include "drivers/driver.h"

/* Identifies the files of all runtimes of a tier, as they are now. Caller frees. */
char *bh_choice_key(enum bh_tier tier);

/* What was found last, {"name", "technology", "version", "missing"}, when it still holds for
 * key; else NULL. Caller frees. */
json_t *bh_choice_load(const struct bh_driver_host *host, enum bh_tier tier, const char *key);

int bh_choice_save_take(const struct bh_driver_host *host, enum bh_tier tier, const char *key,
                        json_t *found, struct bh_error *error);

/* The name of the chosen runtime, or NULL. Caller frees. */
char *bh_choice_name(const struct bh_driver_host *host, enum bh_tier tier);

/* Something did not work: the next probe does not believe the last one. */
void bh_choice_doubt(const struct bh_driver_host *host, enum bh_tier tier);

/* Makes the directory, without what an earlier broker found. */
int bh_choice_forget(const struct bh_driver_host *host, struct bh_error *error);

#endif
