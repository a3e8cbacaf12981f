/* Files of workspaces. The broker neither reads nor writes them: it decides who may, starts one
 * bulkhead-files for the request, gives bulkhead-api its other end, and knows which workspaces
 * are written to. Called by dispatch, admission and workspaces. */
#ifndef BULKHEAD_BROKER_DAEMON_FILES_H
#define BULKHEAD_BROKER_DAEMON_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/queue.h>

struct bh_daemon;
struct bh_files_job;

LIST_HEAD(bh_files_job_list, bh_files_job);

struct bh_files_jobs {
        struct bh_files_job_list all;
        size_t count;
};

/* Whether an upload, an extraction or a removal is under way there. One whose client has its
 * answer is not, even if its process has not quite ended. */
bool bh_files_writes(const struct bh_daemon *daemon, const char *tenant, const char *workspace);

/* Ends all helpers; for the broker's own end. */
void bh_files_clear(struct bh_daemon *daemon);

#endif
