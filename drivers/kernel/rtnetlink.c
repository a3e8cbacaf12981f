/* An rtnetlink dump as JSON; see rtnetlink.h. */
#include "drivers/kernel/rtnetlink.h"

#include <errno.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"

#define DUMP_BYTES  32768 /* the kernel fills at most this much of a read in a dump */
#define DUMP_WAIT_S 5

static void read_link(const struct nlmsghdr *message, json_t *list)
{
        const struct ifinfomsg *link = NLMSG_DATA(message);
        size_t size = IFLA_PAYLOAD(message);
        const char *name = "";

        for (const struct rtattr *a = IFLA_RTA(link); RTA_OK(a, size); a = RTA_NEXT(a, size)) {
                if (a->rta_type == IFLA_IFNAME)
                        name = RTA_DATA(a);
        }
        json_array_append_new(list, json_pack("{ss si sb}", "name", name, "index", link->ifi_index,
                                              "up", (link->ifi_flags & IFF_UP) != 0));
}

static int send_dump(int fd, struct bh_error *error)
{
        struct {
                struct nlmsghdr header;
                struct rtgenmsg body;
        } request = {
                .header = {.nlmsg_len = NLMSG_LENGTH(sizeof(struct rtgenmsg)),
                           .nlmsg_type = RTM_GETLINK,
                           .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP},
                .body = {.rtgen_family = AF_UNSPEC},
        };
        struct sockaddr_nl kernel = {.nl_family = AF_NETLINK};

        if (sendto(fd, &request, request.header.nlmsg_len, 0, (struct sockaddr *)&kernel,
                   sizeof(kernel)) < 0)
                return bh_error_errno(error, errno, "ask rtnetlink");
        return 0;
}

/* Takes one read apart. 1: the dump is over, 0: more to come. */
static int read_messages(const void *buffer, size_t size, json_t *list, struct bh_error *error)
{
        const struct nlmsghdr *message = buffer;

        for (; NLMSG_OK(message, size); message = NLMSG_NEXT(message, size)) {
                if (message->nlmsg_flags & NLM_F_DUMP_INTR)
                        return bh_error_errno(error, EINTR, "rtnetlink: changed while listed");
                if (message->nlmsg_type == NLMSG_DONE)
                        return 1;
                if (message->nlmsg_type == NLMSG_ERROR) {
                        const struct nlmsgerr *reply = NLMSG_DATA(message);

                        return bh_error_errno(error, -reply->error, "rtnetlink");
                }
                if (message->nlmsg_type == RTM_NEWLINK)
                        read_link(message, list);
        }
        return 0;
}

int bh_rtnetlink_links(json_t **ret, struct bh_error *error)
{
        const struct timeval wait = {.tv_sec = DUMP_WAIT_S};
        _cleanup_close_ int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
        _cleanup_free_ void *buffer = bh_alloc(DUMP_BYTES);
        _cleanup_json_ json_t *list = json_array();
        int done = 0;

        if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait)) < 0)
                return bh_error_errno(error, errno, "open rtnetlink");
        if (send_dump(fd, error) < 0)
                return -1;
        while (!done) {
                ssize_t size = recv(fd, buffer, DUMP_BYTES, 0);

                if (size < 0 && errno == EINTR)
                        continue;
                if (size < 0)
                        return bh_error_errno(error, errno, "read rtnetlink");
                done = read_messages(buffer, (size_t)size, list, error);
                if (done < 0)
                        return -1;
        }
        *ret = bh_steal_ptr(&list);
        return 0;
}
