/* What an earlier broker left: adopt it, take its result, or destroy it. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "broker/daemon/daemon.h"
#include "broker/daemon/timeval.h"
#include "broker/shim_protocol.h"

/* A shim whose broker was killed needs a moment to notice and to listen. */
#define CONNECT_EVERY_MS 50
#define CONNECT_FOR_US   ((int64_t)10 * 1000 * 1000)

/* One execution whose shim is looked for. */
struct bh_search {
        struct bh_live *live;
        struct event *timer;
        int64_t until_us;
};

static int connect_control(struct bh_daemon *daemon, const char *id)
{
        struct sockaddr_un address = {.sun_family = AF_UNIX};
        _cleanup_close_ int directory =
                bh_open_beneath(daemon->executions_fd, id, O_RDONLY | O_DIRECTORY, 0, NULL);
        if (directory < 0)
                return -1;
        _cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        /* Through /proc because sun_path is short. */
        snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/%s", directory,
                 BH_SHIM_CONTROL_SOCKET);
        if (fd < 0 || connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
                return -1;
        return bh_steal_fd(&fd);
}

void bh_search_free(struct bh_search *search)
{
        if (!search)
                return;
        if (search->timer)
                event_free(search->timer);
        free(search);
}

/* true when the search is over, and so freed. */
static bool look(struct bh_live *live)
{
        struct bh_search *search = live->search;
        int fd = connect_control(live->daemon, live->record->id);
        if (fd >= 0) {
                bh_search_free(search);
                live->search = NULL;
                bh_shim_adopt_take(live, fd);
                return true;
        }
        struct bh_pidref process = BH_PIDREF_NONE;
        bool alive = bh_pidref_reopen(live->record->shim_pid, live->record->shim_start_time,
                                      &process, NULL) == 0;
        bh_pidref_clear(&process);
        if (alive && bh_monotonic_us() < search->until_us)
                return false;
        bh_shim_give_up(live, alive ? "its shim did not answer after the broker's restart"
                                    : "its shim was gone when the broker came back");
        return true;
}

static void on_look(evutil_socket_t fd, short what, void *data)
{
        struct bh_search *search = data;
        const struct timeval delay = bh_timeval_ms(CONNECT_EVERY_MS);
        (void)fd;
        (void)what;
        if (!look(search->live))
                event_add(search->timer, &delay);
}

static void take_up(struct bh_live *live)
{
        struct bh_search *search = bh_alloc(sizeof(*search));
        search->live = live;
        live->search = search;
        search->until_us = bh_monotonic_us() + CONNECT_FOR_US;
        search->timer = event_new(live->daemon->base, -1, 0, on_look, search);
        if (!search->timer)
                bh_alloc_failed();
        on_look(-1, 0, search);
}

/* The store's row becomes a live execution again. */
static int restore(struct bh_execution *row, void *data, struct bh_error *error)
{
        struct bh_daemon *daemon = data;
        struct bh_execution *copy = bh_alloc(sizeof(*copy));
        (void)error;
        *copy = *row;
        *row = (struct bh_execution){0};
        if (copy->slot >= 0 && !bh_slots_claim(&daemon->slots, copy->slot))
                copy->slot = -1;
        struct bh_live *live = bh_live_new_take(daemon, copy);
        live->stored = true;
        if (copy->state == BH_EXECUTION_QUEUED)
                daemon->executions.queued++;
        else
                daemon->executions.active++;
        return 0;
}

static void free_names(char **names)
{
        for (size_t i = 0; names && names[i]; i++)
                free(names[i]);
        free(names);
}

/* Boundaries that no row knows. */
static int destroy_strangers(struct bh_daemon *daemon, struct bh_error *error)
{
        char **names = NULL;
        if (bh_drivers_list_remains(&daemon->paths, &names, error) < 0)
                return -1;
        for (size_t i = 0; names[i]; i++) {
                struct bh_error failure = {0};
                if (bh_live_find(daemon, names[i]))
                        continue;
                if (daemon->seams->destroy(daemon, names[i], &failure) < 0)
                        bh_log_error("execution.destroy_failed", names[i], &failure);
        }
        free_names(names);
        return 0;
}

int bh_daemon_reclaim(struct bh_daemon *daemon, struct bh_error *error)
{
        const struct bh_execution_filter filter = {.ended = 0};
        if (bh_store_execution_list(daemon->store, &filter, restore, daemon, error) < 0 ||
            destroy_strangers(daemon, error) < 0 || bh_daemon_sweep(daemon, error) < 0)
                return bh_error_prefix(error, "reclaim");
        struct bh_live *live = TAILQ_FIRST(&daemon->executions.all);
        while (live) {
                struct bh_live *next = TAILQ_NEXT(live, order);
                if (live->record->state == BH_EXECUTION_QUEUED)
                        bh_live_end(live, "lost", "the broker ended before it was started");
                else
                        take_up(live);
                live = next;
        }
        return 0;
}
