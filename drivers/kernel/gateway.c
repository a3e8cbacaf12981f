/* Network namespaces without an uplink; see gateway.h. */
#include "drivers/kernel/gateway.h"

#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "drivers/kernel/rtnetlink.h"

static const char own_namespace[] = "/proc/thread-self/ns/net";

/* Fallback devices that the kernel makes in every namespace when the tunnel's module is there
 * (net.core.fb_tunnels_only_for_init_net). They cannot be deleted; down, and without
 * CAP_NET_ADMIN inside, they lead nowhere. */
static const char *const fallback_devices[] = {
        "sit0", "tunl0", "gre0", "gretap0", "erspan0", "ip_vti0", "ip6_vti0", "ip6tnl0", "ip6gre0"};

static int open_own(struct bh_error *error)
{
        int fd = open(own_namespace, O_RDONLY | O_CLOEXEC);

        if (fd < 0)
                return bh_error_errno(error, errno, "open %s", own_namespace);
        return fd;
}

/* The way back. Its failure outranks whatever error there was. */
static int go_home(int home, struct bh_error *error)
{
        if (setns(home, CLONE_NEWNET) == 0)
                return 0;
        bh_error_errno(error, errno,
                       "cannot return to this process's own network namespace: it must end");
        if (error)
                snprintf(error->reason, sizeof(error->reason), "%s", BH_GATEWAY_LOST);
        return -1;
}

static int raise_loopback(int any_socket, struct bh_error *error)
{
        struct ifreq request = {.ifr_name = "lo"};

        if (ioctl(any_socket, SIOCGIFFLAGS, &request) < 0)
                return bh_error_errno(error, errno, "read the state of lo");
        request.ifr_flags = (short)(request.ifr_flags | IFF_UP);
        if (ioctl(any_socket, SIOCSIFFLAGS, &request) < 0)
                return bh_error_errno(error, errno, "bring lo up");
        return 0;
}

static bool is_fallback(const char *name)
{
        for (size_t i = 0; i < sizeof(fallback_devices) / sizeof(fallback_devices[0]); i++) {
                if (strcmp(name, fallback_devices[i]) == 0)
                        return true;
        }
        return false;
}

/* lo up, and nothing else that could lead anywhere. */
static int check_links(const json_t *links, struct bh_error *error)
{
        bool loopback = false;
        const json_t *link;
        size_t i;

        json_array_foreach (links, i, link) {
                const char *name = json_string_value(json_object_get(link, "name"));
                bool up = json_is_true(json_object_get(link, "up"));

                if (strcmp(name, "lo") == 0 && up)
                        loopback = true;
                else if (up || !is_fallback(name))
                        return bh_error_set(error, BH_ERROR_SYSTEM,
                                            "a new network namespace has interface %s (%s)", name,
                                            up ? "up" : "down");
        }
        if (!loopback)
                return bh_error_set(error, BH_ERROR_SYSTEM, "lo did not come up");
        return 0;
}

/* In the new namespace. Returns its descriptor, or -1. */
static int set_up(struct bh_error *error)
{
        _cleanup_close_ int any_socket = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        _cleanup_json_ json_t *links = NULL;

        if (any_socket < 0)
                return bh_error_errno(error, errno, "open a socket in it");
        if (raise_loopback(any_socket, error) < 0 || bh_rtnetlink_links(&links, error) < 0 ||
            check_links(links, error) < 0)
                return -1;
        return open_own(error);
}

int bh_gateway_make(struct bh_error *error)
{
        _cleanup_close_ int home = open_own(error);
        _cleanup_close_ int made = -1;

        if (home < 0)
                return bh_error_prefix(error, "make a gateway");
        if (unshare(CLONE_NEWNET) < 0)
                return bh_error_errno(error, errno, "make a gateway");
        made = set_up(error);
        if (go_home(home, error) < 0 || made < 0)
                return bh_error_prefix(error, "make a gateway");
        return bh_steal_fd(&made);
}
