/* The end of a turn: audit log, then store, then whatever waited for them.
 *
 * The audit log goes first, so that nothing takes effect unrecorded; when the store then fails,
 * the log says so in an entry of its own. A turn that fails is refused as a whole; what shims
 * reported in it is kept here and stored by a later turn. */
#include "base/log.h"
#include "broker/daemon/daemon.h"

#define RETRY_SECONDS 1

static int store_turn(struct bh_daemon *daemon, struct bh_error *error)
{
        if (bh_executions_store(daemon, error) < 0 || bh_audit_commit(daemon->audit, error) < 0) {
                bh_store_rollback(daemon->store);
                return -1;
        }
        return bh_store_commit(daemon->store, error);
}

/* Marks the entries of the turn as not having happened. The ends of executions among them did;
 * they are stored by the retry. */
static void disown_entries(struct bh_daemon *daemon)
{
        int64_t last = bh_audit_last(daemon->audit);
        if (last > daemon->audit_mark) {
                bh_audit_add_take(daemon->audit, "broker", "turn.rolled_back", NULL,
                                  json_pack("{sIsI}", "first", (json_int_t)daemon->audit_mark + 1,
                                            "last", (json_int_t)last));
                daemon->audit_mark = bh_audit_last(daemon->audit);
        }
        /* What cannot be written now stays in the buffer for the retry. */
        (void)bh_audit_commit(daemon->audit, NULL);
}

static void end_turn(struct bh_daemon *daemon)
{
        /* An action may end an execution (a shim that cannot be started), whose end has to be
         * stored in turn: hence a loop. */
        while (daemon->executions.dirty || bh_store_is_dirty(daemon->store) ||
               bh_audit_is_dirty(daemon->audit) || !bh_turn_is_empty(&daemon->turn)) {
                struct bh_error error = {0};
                bool committed = store_turn(daemon, &error) == 0;
                if (!committed && !daemon->store_failed)
                        bh_log_error("turn.not_stored", NULL, &error);
                daemon->store_failed = !committed;
                if (committed) {
                        daemon->audit_mark = bh_audit_last(daemon->audit);
                        bh_executions_stored(daemon);
                        bh_turn_run(&daemon->turn, true);
                        continue;
                }
                struct timeval delay = {.tv_sec = RETRY_SECONDS};
                disown_entries(daemon);
                bh_turn_run(&daemon->turn, false);
                event_add(daemon->retry, &delay);
                return;
        }
}

void bh_daemon_commit(struct bh_daemon *daemon)
{
        end_turn(daemon);
        daemon->turn_changes = false;
}
