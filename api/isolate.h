/* How bulkhead-api shuts itself in, in two named stages. Called by main.c.
 *
 * early:  before anything is read. Descriptors beyond 0-3 closed, no core, no dump. Must not yet
 *         lose: root (to become another user), files (libraries' configuration is loaded).
 * final:  before "ready", when every socket is there. Own user and group, no other groups, no
 *         capability in any set, no_new_privs, no file and no TCP connect or bind (Landlock),
 *         only the system calls of the loop (seccomp). Must still work: accept, read and write on
 *         what is open, descriptors and memfds by the channel. */
#ifndef BULKHEAD_API_ISOLATE_H
#define BULKHEAD_API_ISOLATE_H

#include <sys/types.h>

#include "base/error.h"

int bh_isolate_early(struct bh_error *error);
/* BH_ERROR_CONTROL names the control that could not be set up or read back. */
int bh_isolate_final(uid_t uid, struct bh_error *error);

/* The stages of which final is made that have a room of their own. */
int bh_isolate_landlock(struct bh_error *error);
int bh_isolate_seccomp(struct bh_error *error);

#endif
