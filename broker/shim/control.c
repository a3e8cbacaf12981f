/* The channel to the broker and its adoption; see control.h. */
#include "broker/shim/control.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "broker/shim_protocol.h"

#define BROKER_UID     0
#define LISTEN_BACKLOG 4

int bh_control_open_take(struct bh_control *control, int fd, struct bh_error *error)
{
        *control = (struct bh_control){.listener = -1, .directory = -1};
        if (fcntl(fd, F_SETFD, FD_CLOEXEC) < 0 || fcntl(fd, F_SETFL, O_NONBLOCK) < 0)
                return bh_error_errno(error, errno, "use descriptor %d as the channel", fd);
        control->channel = bh_channel_new_take(fd);
        control->is_broker = true;
        return 0;
}

static void hang_up(struct bh_control *control)
{
        bh_channel_free(control->channel);
        control->channel = NULL;
        control->is_broker = false;
}

static void stop_listening(struct bh_control *control)
{
        if (control->listener < 0)
                return;
        control->listener = bh_close(control->listener);
        (void)unlinkat(control->directory, BH_SHIM_CONTROL_SOCKET, 0);
}

/* The address goes through /proc because the directory's path may be longer than the 108 bytes of
 * sun_path (unix(7)). */
static int listen_beneath(int directory, struct bh_error *error)
{
        struct sockaddr_un address = {.sun_family = AF_UNIX};
        _cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

        if (fd < 0)
                return bh_error_errno(error, errno, "make the control socket");
        (void)snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/%s", directory,
                       BH_SHIM_CONTROL_SOCKET);
        (void)unlinkat(directory, BH_SHIM_CONTROL_SOCKET, 0);
        if (bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0 ||
            fchmodat(directory, BH_SHIM_CONTROL_SOCKET, 0600, 0) < 0 ||
            listen(fd, LISTEN_BACKLOG) < 0)
                return bh_error_errno(error, errno, "listen on " BH_SHIM_CONTROL_SOCKET);
        return bh_steal_fd(&fd);
}

/* From the first broker's death on there is a place to come to. It stays: a broker that follows
 * another one's death at once waits in the backlog until that death was noticed. */
static int await_broker(struct bh_control *control, struct bh_error *error)
{
        if (control->listener >= 0 || control->directory < 0)
                return 0;
        control->listener = listen_beneath(control->directory, error);
        return control->listener < 0 ? -1 : 0;
}

/* true when a peer is there now. Whoever is not root is hung up on at once. */
static bool accept_peer(struct bh_control *control)
{
        struct ucred peer = {.uid = BROKER_UID + 1};
        socklen_t size = sizeof(peer);
        _cleanup_close_ int fd = -1;

        /* cppcheck-suppress nullPointer ; accept(2) allows it */
        fd = accept4(control->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd < 0)
                return false;
        if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0 || peer.uid != BROKER_UID)
                return false;
        control->channel = bh_channel_new_take(bh_steal_fd(&fd));
        return true;
}

struct pollfd bh_control_pollfd(const struct bh_control *control)
{
        if (!control->channel)
                return (struct pollfd){.fd = control->listener, .events = POLLIN};
        return (struct pollfd){
                .fd = bh_channel_fd(control->channel),
                .events = (short)(bh_channel_wants_write(control->channel) ? POLLIN | POLLOUT
                                                                           : POLLIN),
        };
}

void bh_control_flush(struct bh_control *control)
{
        /* A peer that is gone is noticed by the next receive. */
        if (control->channel)
                (void)bh_channel_flush(control->channel, NULL);
}

int bh_control_receive(struct bh_control *control, struct bh_frame *ret, struct bh_error *error)
{
        return bh_channel_receive(control->channel, ret, error);
}

static int receive_command(struct bh_control *control, struct bh_command *ret,
                           struct bh_error *error)
{
        struct bh_frame frame;
        int result = bh_channel_receive(control->channel, &frame, error);

        if (result <= 0)
                return result;
        result = bh_command_decode(&frame, ret, error);
        bh_frame_clear(&frame);
        if (result < 0)
                return -1;
        if ((ret->type == BH_COMMAND_ADOPT) == control->is_broker)
                return bh_error_set(error, BH_ERROR_PROTOCOL, "frame: out of order");
        return 1;
}

int bh_control_next(struct bh_control *control, struct bh_command *ret, struct bh_error *error)
{
        for (;;) {
                struct bh_error problem = {.code = BH_ERROR_NONE};
                bool was_broker = control->is_broker;
                int result;

                if (!control->channel && (control->listener < 0 || !accept_peer(control)))
                        return 0;
                result = receive_command(control, ret, &problem);
                if (result == 0)
                        return 0;
                if (result == 1) {
                        if (ret->type == BH_COMMAND_ADOPT)
                                control->is_broker = true;
                        return 1;
                }
                hang_up(control);
                result = await_broker(control, error);
                /* A stranger on control.sock costs itself only its connection. */
                if (was_broker && problem.code == BH_ERROR_PROTOCOL) {
                        if (error)
                                *error = problem;
                        return -1;
                }
                if (result < 0)
                        return -1;
        }
}

void bh_control_send_take(struct bh_control *control, json_t *message)
{
        _cleanup_json_ json_t *owned = message;

        if (bh_control_has_broker(control))
                (void)bh_channel_send(control->channel, owned, NULL, 0, NULL);
}

void bh_control_cut_off(struct bh_control *control)
{
        hang_up(control);
        /* Without control.sock the result still goes to result.json. */
        (void)await_broker(control, NULL);
}

bool bh_control_has_broker(const struct bh_control *control)
{
        return control->channel && control->is_broker;
}

void bh_control_close(struct bh_control *control)
{
        hang_up(control);
        stop_listening(control);
}
