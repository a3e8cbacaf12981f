/* rtnetlink dumps as JSON; see rtnetlink.h. */
#include "drivers/kernel/rtnetlink.h"

#include <arpa/inet.h>
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

#define DUMP_BYTES    32768 /* the kernel fills at most this much of a read in a dump */
#define DUMP_WAIT_S   5
#define ADDRESS_BYTES (INET6_ADDRSTRLEN + 4)

/* Called for each message of a dump; appends to list. */
typedef void (*read_message)(const struct nlmsghdr *message, json_t *list);

static int send_dump(int fd, uint16_t type, struct bh_error *error)
{
        struct {
                struct nlmsghdr header;
                struct rtgenmsg body;
        } request = {
                .header = {.nlmsg_len = NLMSG_LENGTH(sizeof(struct rtgenmsg)),
                           .nlmsg_type = type,
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
static int read_messages(const void *buffer, size_t size, uint16_t type, read_message read,
                         json_t *list, struct bh_error *error)
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
                if (message->nlmsg_type == type)
                        read(message, list);
        }
        return 0;
}

static int dump(uint16_t request, uint16_t reply, read_message read, json_t **ret,
                struct bh_error *error)
{
        const struct timeval wait = {.tv_sec = DUMP_WAIT_S};
        _cleanup_close_ int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
        _cleanup_free_ void *buffer = bh_alloc(DUMP_BYTES);
        _cleanup_json_ json_t *list = json_array();
        int done = 0;

        if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait)) < 0)
                return bh_error_errno(error, errno, "open rtnetlink");
        if (send_dump(fd, request, error) < 0)
                return -1;
        while (!done) {
                ssize_t size = recv(fd, buffer, DUMP_BYTES, 0);

                if (size < 0 && errno == EINTR)
                        continue;
                if (size < 0)
                        return bh_error_errno(error, errno, "read rtnetlink");
                done = read_messages(buffer, (size_t)size, reply, read, list, error);
                if (done < 0)
                        return -1;
        }
        *ret = bh_steal_ptr(&list);
        return 0;
}

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

/* "default", or address/prefix length. */
static json_t *destination(const struct rtmsg *route, const void *address)
{
        char text[ADDRESS_BYTES] = "";

        if (!address)
                return json_string(route->rtm_dst_len == 0 ? "default" : "unknown");
        inet_ntop(route->rtm_family, address, text, sizeof(text));
        return json_sprintf("%s/%u", text, route->rtm_dst_len);
}

static const char *route_type(unsigned char type)
{
        static const char *const names[] = {
                [RTN_UNICAST] = "unicast",         [RTN_LOCAL] = "local",
                [RTN_BROADCAST] = "broadcast",     [RTN_ANYCAST] = "anycast",
                [RTN_MULTICAST] = "multicast",     [RTN_BLACKHOLE] = "blackhole",
                [RTN_UNREACHABLE] = "unreachable", [RTN_PROHIBIT] = "prohibit",
        };

        return type < sizeof(names) / sizeof(names[0]) && names[type] ? names[type] : "other";
}

static void read_route(const struct nlmsghdr *message, json_t *list)
{
        const struct rtmsg *route = NLMSG_DATA(message);
        size_t size = RTM_PAYLOAD(message);
        const void *address = NULL, *gateway = NULL;
        int32_t interface = 0;
        uint32_t table = route->rtm_table;
        char name[IF_NAMESIZE] = "", via[ADDRESS_BYTES] = "";
        json_t *entry;

        for (const struct rtattr *a = RTM_RTA(route); RTA_OK(a, size); a = RTA_NEXT(a, size)) {
                if (a->rta_type == RTA_DST)
                        address = RTA_DATA(a);
                else if (a->rta_type == RTA_GATEWAY)
                        gateway = RTA_DATA(a);
                else if (a->rta_type == RTA_OIF)
                        memcpy(&interface, RTA_DATA(a), sizeof(interface));
                else if (a->rta_type == RTA_TABLE)
                        memcpy(&table, RTA_DATA(a), sizeof(table));
        }
        entry = json_pack("{ss ss sI so}", "family", route->rtm_family == AF_INET ? "ipv4" : "ipv6",
                          "type", route_type(route->rtm_type), "table", (json_int_t)table,
                          "destination", destination(route, address));
        if (interface > 0 && if_indextoname((unsigned)interface, name))
                json_object_set_new(entry, "interface", json_string(name));
        if (gateway && inet_ntop(route->rtm_family, gateway, via, sizeof(via)))
                json_object_set_new(entry, "gateway", json_string(via));
        json_array_append_new(list, entry);
}

int bh_rtnetlink_links(json_t **ret, struct bh_error *error)
{
        return dump(RTM_GETLINK, RTM_NEWLINK, read_link, ret, error);
}

int bh_rtnetlink_routes(json_t **ret, struct bh_error *error)
{
        return dump(RTM_GETROUTE, RTM_NEWROUTE, read_route, ret, error);
}
