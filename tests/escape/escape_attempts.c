/* escape-attempts: tries what a boundary must refuse and prints one JSON line an attempt.
 *
 *     escape-attempts [--canary-*=VALUE]... [--without-boundary] [NAME]...
 *     escape-attempts --list
 *     escape-attempts --exhaust=WHAT --limit=N
 *
 * Exit: 0 when every attempt was refused, 1 when not, 2 for wrong usage. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "attempt.h"

#define DESCRIPTORS_MAX 65536

int inherited_descriptors;

static const struct attempt *const tables[] = {
        file_attempts,   mount_attempts,   process_attempts, privilege_attempts,
        kernel_attempts, network_attempts, shared_attempts,
};

/* Named program as it was started with: exit status tells the effective uid to an attempt
 * that ran a set-user-id copy of it. */
#define REPORT_EUID "report-euid"

static int count_descriptors(void)
{
        int count = 0;

        for (int fd = 3; fd < DESCRIPTORS_MAX; fd++) {
                if (fcntl(fd, F_GETFD) >= 0)
                        count++;
        }
        return count;
}

static int wanted(const char *name, char *const *names)
{
        if (!*names)
                return 1;
        for (; *names; names++) {
                if (strcmp(*names, name) == 0)
                        return 1;
        }
        return 0;
}

static void list_attempts(void)
{
        for (size_t t = 0; t < sizeof(tables) / sizeof(tables[0]); t++) {
                for (const struct attempt *attempt = tables[t]; attempt->name; attempt++)
                        printf("%-32s %s\n", attempt->name, attempt->tried);
        }
}

/* A directory of its own, so that attempts that leave files do not meet each other's. */
static int enter_work_directory(void)
{
        char name[] = "escape-XXXXXX";

        if (!mkdtemp(name) || chdir(name) < 0) {
                fprintf(stderr, "no directory to work in: %s\n", strerror(errno));
                return -1;
        }
        return 0;
}

static int run_all(const struct canaries *canaries, int without_boundary, char *const *names)
{
        int count = 0, status = 0;

        if (enter_work_directory() < 0)
                return 2;
        /* An attempt signals everything that it sees; this program is not the target. */
        signal(SIGUSR1, SIG_IGN);
        for (size_t t = 0; t < sizeof(tables) / sizeof(tables[0]); t++) {
                for (const struct attempt *attempt = tables[t]; attempt->name; attempt++) {
                        if (!wanted(attempt->name, names))
                                continue;
                        count++;
                        if (run_attempt(attempt, canaries, without_boundary) != REFUSED)
                                status = 1;
                }
        }
        if (count == 0) {
                fprintf(stderr, "no such attempt\n");
                return 2;
        }
        return status;
}

enum choice {
        CANARY_FILE = 256,
        CANARY_ABSTRACT,
        CANARY_SOCKET,
        CANARY_TCP,
        CANARY_PID,
        CANARY_SHM,
        OUTSIDE_IPV4,
        OUTSIDE_IPV6,
        WITHOUT_BOUNDARY,
        LIST,
        EXHAUST,
        LIMIT,
};

static const struct option options[] = {
        {"canary-file", required_argument, NULL, CANARY_FILE},
        {"canary-abstract", required_argument, NULL, CANARY_ABSTRACT},
        {"canary-socket", required_argument, NULL, CANARY_SOCKET},
        {"canary-tcp", required_argument, NULL, CANARY_TCP},
        {"canary-pid", required_argument, NULL, CANARY_PID},
        {"canary-shm", required_argument, NULL, CANARY_SHM},
        {"outside-ipv4", required_argument, NULL, OUTSIDE_IPV4},
        {"outside-ipv6", required_argument, NULL, OUTSIDE_IPV6},
        {"without-boundary", no_argument, NULL, WITHOUT_BOUNDARY},
        {"list", no_argument, NULL, LIST},
        {"exhaust", required_argument, NULL, EXHAUST},
        {"limit", required_argument, NULL, LIMIT},
        {NULL, 0, NULL, 0},
};

/* What the command line asks for. */
struct request {
        struct canaries canaries;
        int without_boundary;
        int list;
        const char *exhaust;
        long long limit;
};

static int read_option(int option, struct request *request)
{
        switch (option) {
        case CANARY_FILE:
                request->canaries.file = optarg;
                break;
        case CANARY_ABSTRACT:
                request->canaries.abstract = optarg;
                break;
        case CANARY_SOCKET:
                request->canaries.socket = optarg;
                break;
        case CANARY_TCP:
                request->canaries.tcp_port = atoi(optarg);
                break;
        case CANARY_PID:
                request->canaries.pid = atoi(optarg);
                break;
        case CANARY_SHM:
                request->canaries.shm_key = atoi(optarg);
                break;
        case OUTSIDE_IPV4:
                request->canaries.outside_ipv4 = optarg;
                break;
        case OUTSIDE_IPV6:
                request->canaries.outside_ipv6 = optarg;
                break;
        case WITHOUT_BOUNDARY:
                request->without_boundary = 1;
                break;
        case LIST:
                request->list = 1;
                break;
        case EXHAUST:
                request->exhaust = optarg;
                break;
        case LIMIT:
                request->limit = atoll(optarg);
                break;
        default:
                return -1;
        }
        return 0;
}

int main(int argc, char **argv)
{
        struct request request = {0};
        int option;

        if (argc == 2 && strcmp(argv[1], REPORT_EUID) == 0)
                return geteuid() == 0 ? 1 : 0;
        inherited_descriptors = count_descriptors();
        while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
                if (read_option(option, &request) < 0)
                        return 2;
        }
        if (request.list) {
                list_attempts();
                return 0;
        }
        if (request.exhaust)
                return exhaust(request.exhaust, request.limit);
        return run_all(&request.canaries, request.without_boundary, argv + optind);
}
