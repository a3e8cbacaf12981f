/* The end of a turn: one transaction for what it changed and for the audit entries of it, then
 * the audit file, then whatever waited for them.
 *
 * The entries are durable with the transaction, so the file needs no sync of its own in a
 * turn: that follows within SYNC_MS, and only then does the store let go of them. A turn that
 * fails is refused as a whole, its entries forgotten; what shims reported in it is kept here and
 * stored by a later turn. */
#include "base/log.h"
#include "broker/daemon/daemon.h"
#include "broker/daemon/timeval.h"

#define RETRY_MS 1000
#define SYNC_MS  500

static int stage(int64_t sequence, const char *line, void *data, struct bh_error *error)
{
        return bh_store_audit_stage(data, sequence, line, error);
}

static int store_turn(struct bh_daemon *daemon, struct bh_error *error)
{
        int64_t synced = daemon->audit_synced;
        if (bh_executions_store(daemon, error) < 0 ||
            bh_audit_each_new(daemon->audit, stage, daemon->store, error) < 0 ||
            (synced > daemon->audit_unstaged &&
             bh_store_audit_unstage(daemon->store, synced, error) < 0)) {
                bh_store_rollback(daemon->store);
                return -1;
        }
        if (bh_store_commit(daemon->store, error) < 0)
                return -1;
        daemon->audit_unstaged = synced;
        return 0;
}

static void retry_later(struct bh_daemon *daemon, const struct bh_error *error)
{
        const struct timeval delay = bh_timeval_ms(RETRY_MS);
        if (!daemon->store_failed)
                bh_log_error("turn.not_stored", NULL, error);
        daemon->store_failed = true;
        event_add(daemon->retry, &delay);
}

static void write_audit(struct bh_daemon *daemon)
{
        const struct timeval delay = bh_timeval_ms(SYNC_MS);
        struct bh_error error = {0};
        bool writes = !bh_audit_is_written(daemon->audit);
        if (bh_audit_write(daemon->audit, &error) < 0) {
                retry_later(daemon, &error);
                return;
        }
        if (writes) /* a turn that only read tells nothing about the disk */
                daemon->store_failed = false;
        if (daemon->audit_sync && bh_audit_written(daemon->audit) > daemon->audit_synced &&
            !event_pending(daemon->audit_sync, EV_TIMEOUT, NULL))
                event_add(daemon->audit_sync, &delay);
}

void bh_daemon_sync_audit(struct bh_daemon *daemon)
{
        struct bh_error error = {0};
        int64_t written = bh_audit_written(daemon->audit);
        if (!daemon->audit_sync)
                return;
        if (bh_audit_sync(daemon->audit, &error) == 0) {
                daemon->audit_synced = written;
                return;
        }
        /* What a failed sync left unwritten, a later one does not tell (fsync(2)): from here on
         * everything stays staged, and the next start compares. */
        bh_log_error("audit.not_synced", NULL, &error);
        event_free(daemon->audit_sync);
        daemon->audit_sync = NULL;
}

static bool has_news(const struct bh_daemon *daemon)
{
        return daemon->executions.dirty || bh_store_is_dirty(daemon->store) ||
               bh_audit_is_dirty(daemon->audit) || !bh_turn_is_empty(&daemon->turn);
}

static void end_turn(struct bh_daemon *daemon)
{
        /* An action may end an execution (a shim that cannot be started), whose end has to be
         * stored in turn: hence a loop. */
        while (has_news(daemon)) {
                struct bh_error error = {0};
                if (store_turn(daemon, &error) < 0) {
                        bh_audit_rollback(daemon->audit);
                        retry_later(daemon, &error);
                        bh_turn_run(&daemon->turn, false);
                        return;
                }
                bh_audit_accept(daemon->audit);
                write_audit(daemon);
                bh_executions_stored(daemon);
                bh_turn_run(&daemon->turn, true);
        }
        if (!bh_audit_is_written(daemon->audit))
                write_audit(daemon);
}

void bh_daemon_retry(struct bh_daemon *daemon)
{
        /* Nothing waits for the store any more: whether it can be written, the next one tells. */
        if (!has_news(daemon) && bh_audit_is_written(daemon->audit))
                daemon->store_failed = false;
}

void bh_daemon_commit(struct bh_daemon *daemon)
{
        end_turn(daemon);
        daemon->turn_changes = false;
}
