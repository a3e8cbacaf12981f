/* Attempts at the network: sockets of kinds that are not for a workload, addresses that no
 * boundary may reach, sockets of the host, and the namespace's own set-up. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_alg.h>
#include <linux/if_ether.h>
#include <linux/if_tun.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/vm_sockets.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "attempt.h"

#define CONNECT_MS 2000
#define METADATA   "169.254.169.254" /* RFC 3927; where clouds answer */

/* ---- kinds of sockets ---- */

#define SOCKET(function, family, type, protocol)                                       \
        static void function(const struct canaries *canaries, struct outcome *outcome) \
        {                                                                              \
                (void)canaries;                                                        \
                judge(outcome, socket(family, (type) | SOCK_CLOEXEC, protocol));       \
        }

SOCKET(raw_ipv4, AF_INET, SOCK_RAW, IPPROTO_ICMP)
SOCKET(raw_ipv6, AF_INET6, SOCK_RAW, IPPROTO_ICMPV6)
SOCKET(raw_ip, AF_INET, SOCK_RAW, IPPROTO_RAW)
SOCKET(packet, AF_PACKET, SOCK_RAW, htons(ETH_P_ALL))
SOCKET(vsock, AF_VSOCK, SOCK_STREAM, 0)
SOCKET(alg, AF_ALG, SOCK_SEQPACKET, 0)
SOCKET(netlink_route, AF_NETLINK, SOCK_RAW, NETLINK_ROUTE)
SOCKET(netlink_audit, AF_NETLINK, SOCK_RAW, NETLINK_AUDIT)
SOCKET(netlink_netfilter, AF_NETLINK, SOCK_RAW, NETLINK_NETFILTER)
SOCKET(netlink_generic, AF_NETLINK, SOCK_RAW, NETLINK_GENERIC)
SOCKET(netlink_diag, AF_NETLINK, SOCK_RAW, NETLINK_SOCK_DIAG)
SOCKET(netlink_uevent, AF_NETLINK, SOCK_RAW, NETLINK_KOBJECT_UEVENT)
SOCKET(netlink_xfrm, AF_NETLINK, SOCK_RAW, NETLINK_XFRM)

/* Families that are neither local, nor internet, nor one of those above. */
static void other_families(const struct canaries *canaries, struct outcome *outcome)
{
        int tried = 0;

        (void)canaries;
        for (int family = 1; family < AF_MAX; family++) {
                static const int types[] = {SOCK_STREAM, SOCK_DGRAM, SOCK_RAW, SOCK_SEQPACKET};

                if (family == AF_UNIX || family == AF_INET || family == AF_INET6 ||
                    family == AF_NETLINK)
                        continue;
                for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
                        tried++;
                        if (socket(family, types[i] | SOCK_CLOEXEC, 0) >= 0) {
                                succeeded(outcome, "family %d, type %d", family, types[i]);
                                return;
                        }
                }
        }
        refused(outcome, "none of %d: %s", tried, strerror(errno));
}

/* ---- sockets of the host ---- */

static void connect_unix(const struct sockaddr_un *address, size_t size, int type,
                         struct outcome *outcome)
{
        int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);

        if (fd < 0)
                unknown(outcome, "no socket: %s", strerror(errno));
        else
                judge(outcome, connect(fd, (const struct sockaddr *)address, (socklen_t)size));
}

static void host_abstract(const struct canaries *canaries, struct outcome *outcome)
{
        struct sockaddr_un address = {.sun_family = AF_UNIX};

        if (!canaries->abstract) {
                unknown(outcome, "no canary socket given");
                return;
        }
        snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1, "%s", canaries->abstract);
        connect_unix(&address,
                     offsetof(struct sockaddr_un, sun_path) + 1 + strlen(address.sun_path + 1),
                     SOCK_STREAM, outcome);
}

static void host_socket(const struct canaries *canaries, struct outcome *outcome)
{
        struct sockaddr_un address = {.sun_family = AF_UNIX};

        if (!canaries->socket) {
                unknown(outcome, "no canary socket given");
                return;
        }
        snprintf(address.sun_path, sizeof(address.sun_path), "%s", canaries->socket);
        connect_unix(&address, sizeof(address), SOCK_STREAM, outcome);
}

/* Waits for a connection that was begun. Returns 0, or -1 with errno. */
static int finish_connect(int fd)
{
        struct pollfd writable = {.fd = fd, .events = POLLOUT};
        int error = 0;
        socklen_t size = sizeof(error);

        if (poll(&writable, 1, CONNECT_MS) != 1)
                error = ETIMEDOUT;
        else if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) < 0)
                error = errno;
        errno = error;
        return error == 0 ? 0 : -1;
}

/* An answer of any kind, also a refusal by the other end, means that the packet went out; no
 * answer means that nobody knows. */
static void connect_out(const struct sockaddr *address, socklen_t size, int refusal_is_answer,
                        struct outcome *outcome)
{
        int fd = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        int result;

        if (fd < 0) {
                judge(outcome, -1);
                return;
        }
        result = connect(fd, address, size);
        if (result < 0 && errno == EINPROGRESS)
                result = finish_connect(fd);
        if (result < 0 && errno == ETIMEDOUT)
                unknown(outcome, "no answer: packets may have left");
        else
                judge_gate(outcome, result, (const int[]){refusal_is_answer ? ECONNREFUSED : 0, 0});
}

static int make_ipv4(const char *text, int port, struct sockaddr_in *ret)
{
        *ret = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
        return text && inet_pton(AF_INET, text, &ret->sin_addr) == 1 ? 0 : -1;
}

static int make_ipv6(const char *text, int port, struct sockaddr_in6 *ret)
{
        *ret = (struct sockaddr_in6){.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port)};
        return text && inet_pton(AF_INET6, text, &ret->sin6_addr) == 1 ? 0 : -1;
}

static void host_loopback(const struct canaries *canaries, struct outcome *outcome)
{
        struct sockaddr_in address;

        if (canaries->tcp_port == 0 || make_ipv4("127.0.0.1", canaries->tcp_port, &address) < 0)
                unknown(outcome, "no canary port given");
        else
                connect_out((struct sockaddr *)&address, sizeof(address), 0, outcome);
}

static void host_loopback_mapped(const struct canaries *canaries, struct outcome *outcome)
{
        struct sockaddr_in6 address;

        if (canaries->tcp_port == 0 ||
            make_ipv6("::ffff:127.0.0.1", canaries->tcp_port, &address) < 0)
                unknown(outcome, "no canary port given");
        else
                connect_out((struct sockaddr *)&address, sizeof(address), 0, outcome);
}

/* ---- out ---- */

static void tcp_ipv4(const struct canaries *canaries, struct outcome *outcome)
{
        struct sockaddr_in address;

        if (make_ipv4(canaries->outside_ipv4, 443, &address) < 0)
                unknown(outcome, "no IPv4 address given");
        else
                connect_out((struct sockaddr *)&address, sizeof(address), 1, outcome);
}

static void tcp_ipv6(const struct canaries *canaries, struct outcome *outcome)
{
        struct sockaddr_in6 address;

        if (make_ipv6(canaries->outside_ipv6, 443, &address) < 0)
                unknown(outcome, "no IPv6 address given");
        else
                connect_out((struct sockaddr *)&address, sizeof(address), 1, outcome);
}

static void metadata_service(const struct canaries *canaries, struct outcome *outcome)
{
        struct sockaddr_in address;

        (void)canaries;
        make_ipv4(METADATA, 80, &address);
        connect_out((struct sockaddr *)&address, sizeof(address), 1, outcome);
}

static void send_out(const struct sockaddr *address, socklen_t size, const void *data,
                     size_t length, struct outcome *outcome)
{
        int fd = socket(address->sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        int yes = 1;

        if (fd >= 0)
                setsockopt(fd, SOL_SOCKET, SO_BROADCAST, &yes, sizeof(yes));
        judge(outcome, fd < 0 ? -1 : sendto(fd, data, length, 0, address, size));
}

static void udp_ipv4(const struct canaries *canaries, struct outcome *outcome)
{
        struct sockaddr_in address;

        if (make_ipv4(canaries->outside_ipv4, 9, &address) < 0)
                unknown(outcome, "no IPv4 address given");
        else
                send_out((struct sockaddr *)&address, sizeof(address), "x", 1, outcome);
}

static void udp_ipv6(const struct canaries *canaries, struct outcome *outcome)
{
        struct sockaddr_in6 address;

        if (make_ipv6(canaries->outside_ipv6, 9, &address) < 0)
                unknown(outcome, "no IPv6 address given");
        else
                send_out((struct sockaddr *)&address, sizeof(address), "x", 1, outcome);
}

static void udp_broadcast(const struct canaries *canaries, struct outcome *outcome)
{
        struct sockaddr_in address;

        (void)canaries;
        make_ipv4("255.255.255.255", 67, &address);
        send_out((struct sockaddr *)&address, sizeof(address), "x", 1, outcome);
}

static void udp_multicast(const struct canaries *canaries, struct outcome *outcome)
{
        struct sockaddr_in address;

        (void)canaries;
        make_ipv4("224.0.0.251", 5353, &address);
        send_out((struct sockaddr *)&address, sizeof(address), "x", 1, outcome);
}

/* A question with data in the name (RFC 1035): "secret.escape.test", A, IN. */
static void dns_out(const struct canaries *canaries, struct outcome *outcome)
{
        static const char query[] = "\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00"
                                    "\x06secret\x06"
                                    "escape\x04test\x00\x00\x01\x00\x01";
        struct sockaddr_in address;

        if (make_ipv4(canaries->outside_ipv4, 53, &address) < 0)
                unknown(outcome, "no IPv4 address given");
        else
                send_out((struct sockaddr *)&address, sizeof(address), query, sizeof(query) - 1,
                         outcome);
}

static void ping(const struct canaries *canaries, struct outcome *outcome)
{
        static const unsigned char request[8] = {8}; /* RFC 792: echo */
        struct sockaddr_in address;
        int fd;

        if (make_ipv4(canaries->outside_ipv4, 0, &address) < 0) {
                unknown(outcome, "no IPv4 address given");
                return;
        }
        fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, IPPROTO_ICMP);
        if (fd < 0) /* the group may not; a raw one may */
                fd = socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_ICMP);
        judge(outcome, fd < 0 ? -1
                              : sendto(fd, request, sizeof(request), 0, (struct sockaddr *)&address,
                                       sizeof(address)));
}

/* ---- the namespace's set-up ---- */

static void interface_down(const struct canaries *canaries, struct outcome *outcome)
{
        int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        struct ifreq request = {.ifr_name = "lo", .ifr_flags = 0};

        (void)canaries;
        judge(outcome, ioctl(fd, SIOCSIFFLAGS, &request));
        request.ifr_flags = IFF_UP | IFF_RUNNING;
        if (outcome->verdict == SUCCEEDED) /* for the attempts after this one */
                ioctl(fd, SIOCSIFFLAGS, &request);
}

struct netlink_request {
        struct nlmsghdr header;
        char body[256];
};

static void append(struct netlink_request *request, unsigned short type, const void *data,
                   unsigned short size)
{
        struct rtattr *attribute =
                (struct rtattr *)((char *)request + NLMSG_ALIGN(request->header.nlmsg_len));

        attribute->rta_type = type;
        attribute->rta_len = (unsigned short)RTA_LENGTH(size);
        memcpy(RTA_DATA(attribute), data, size);
        request->header.nlmsg_len =
                NLMSG_ALIGN(request->header.nlmsg_len) + RTA_ALIGN(attribute->rta_len);
}

/* Sends and waits for the kernel's answer. Returns 0, or -1 with errno. */
static int ask_netlink(struct netlink_request *request)
{
        struct sockaddr_nl kernel = {.nl_family = AF_NETLINK};
        struct {
                struct nlmsghdr header;
                struct nlmsgerr error;
                char rest[512];
        } reply;
        int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);

        request->header.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL;
        if (fd < 0 || sendto(fd, request, request->header.nlmsg_len, 0, (struct sockaddr *)&kernel,
                             sizeof(kernel)) < 0)
                return -1;
        if (recv(fd, &reply, sizeof(reply), 0) < (ssize_t)NLMSG_LENGTH(sizeof(reply.error)) ||
            reply.header.nlmsg_type != NLMSG_ERROR) {
                errno = EPROTO;
                return -1;
        }
        errno = -reply.error.error;
        return reply.error.error == 0 ? 0 : -1;
}

/* EOPNOTSUPP: the kernel has no such device, but would have made one. */
static void interface_add(const struct canaries *canaries, struct outcome *outcome)
{
        struct netlink_request request = {
                .header = {.nlmsg_len = NLMSG_LENGTH(sizeof(struct ifinfomsg)),
                           .nlmsg_type = RTM_NEWLINK}};
        struct {
                struct rtattr head;
                char kind[8];
        } info = {{RTA_LENGTH(5), IFLA_INFO_KIND}, "dummy"};

        (void)canaries;
        append(&request, IFLA_LINKINFO, &info, RTA_LENGTH(5));
        judge_gate(outcome, ask_netlink(&request), (const int[]){EOPNOTSUPP, 0});
}

static void route_add(const struct canaries *canaries, struct outcome *outcome)
{
        struct netlink_request request = {
                .header = {.nlmsg_len = NLMSG_LENGTH(sizeof(struct rtmsg)),
                           .nlmsg_type = RTM_NEWROUTE}};
        struct rtmsg route = {.rtm_family = AF_INET,
                              .rtm_table = RT_TABLE_MAIN,
                              .rtm_protocol = RTPROT_BOOT,
                              .rtm_scope = RT_SCOPE_LINK,
                              .rtm_type = RTN_UNICAST};
        unsigned int loopback = if_nametoindex("lo");

        (void)canaries;
        memcpy(NLMSG_DATA(&request.header), &route, sizeof(route));
        append(&request, RTA_OIF, &loopback, sizeof(loopback));
        judge_gate(outcome, ask_netlink(&request), (const int[]){EEXIST, 0});
}

static void address_add(const struct canaries *canaries, struct outcome *outcome)
{
        struct netlink_request request = {
                .header = {.nlmsg_len = NLMSG_LENGTH(sizeof(struct ifaddrmsg)),
                           .nlmsg_type = RTM_NEWADDR}};
        struct ifaddrmsg message = {
                .ifa_family = AF_INET, .ifa_prefixlen = 32, .ifa_index = if_nametoindex("lo")};
        struct in_addr address = {.s_addr = htonl(0xC6336401)}; /* 198.51.100.1, RFC 5737 */

        (void)canaries;
        memcpy(NLMSG_DATA(&request.header), &message, sizeof(message));
        append(&request, IFA_LOCAL, &address, sizeof(address));
        judge_gate(outcome, ask_netlink(&request), (const int[]){EEXIST, 0});
}

static void tunnel_device(const struct canaries *canaries, struct outcome *outcome)
{
        struct ifreq request = {.ifr_flags = IFF_TUN};
        int fd = open("/dev/net/tun", O_RDWR | O_CLOEXEC);

        (void)canaries;
        judge(outcome, fd < 0 ? -1 : ioctl(fd, TUNSETIFF, &request));
}

const struct attempt network_attempts[] = {
        {"raw-ipv4", "a raw ICMP socket", raw_ipv4},
        {"raw-ipv6", "a raw ICMPv6 socket", raw_ipv6},
        {"raw-ip", "a raw IP socket", raw_ip},
        {"packet-socket", "a packet socket", packet},
        {"vsock", "a socket to the hypervisor", vsock},
        {"alg-socket", "a socket to the kernel's ciphers", alg},
        {"netlink-route", "netlink to interfaces and routes, whose queues count nowhere",
         netlink_route},
        {"netlink-audit", "netlink to the audit system", netlink_audit},
        {"netlink-netfilter", "netlink to the firewall", netlink_netfilter},
        {"netlink-generic", "generic netlink", netlink_generic},
        {"netlink-diag", "netlink to the list of sockets", netlink_diag},
        {"netlink-uevent", "netlink to device events", netlink_uevent},
        {"netlink-xfrm", "netlink to IPsec", netlink_xfrm},
        {"other-families", "sockets of every other family", other_families},
        {"host-abstract-socket", "connect to an abstract socket of the host", host_abstract},
        {"host-file-socket", "connect to a unix socket of the host", host_socket},
        {"host-loopback", "connect to a listener on the host's 127.0.0.1", host_loopback},
        {"host-loopback-mapped", "the same through ::ffff:127.0.0.1", host_loopback_mapped},
        {"tcp-ipv4", "connect out by IPv4", tcp_ipv4},
        {"tcp-ipv6", "connect out by IPv6", tcp_ipv6},
        {"metadata-service", "connect to the cloud's metadata address", metadata_service},
        {"udp-ipv4", "send a datagram out by IPv4", udp_ipv4},
        {"udp-ipv6", "send a datagram out by IPv6", udp_ipv6},
        {"udp-broadcast", "send a broadcast", udp_broadcast},
        {"udp-multicast", "send a multicast", udp_multicast},
        {"dns-out", "ask a name server outside", dns_out},
        {"ping-out", "ping an address outside", ping},
        {"interface-down", "take lo down", interface_down},
        {"interface-add", "add an interface", interface_add},
        {"route-add", "add a route", route_add},
        {"address-add", "add an address", address_add},
        {"tunnel-device", "make a tunnel device", tunnel_device},
        {NULL, NULL, NULL},
};
