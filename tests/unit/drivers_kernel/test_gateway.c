/* Gateways on the running kernel. Needs root. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "drivers/kernel/gateway.h"
#include "needs_root.h"

static ino_t own_namespace(void)
{
        struct stat stat_;

        assert_int_equal(stat("/proc/thread-self/ns/net", &stat_), 0);
        return stat_.st_ino;
}

static void test_make(void **state)
{
        ino_t home = own_namespace();
        struct bh_error error = {0};
        _cleanup_close_ int first = bh_gateway_make(&error);
        _cleanup_close_ int second = -1;
        struct stat a, b;

        (void)state;
        assert_ok(first, error);
        second = bh_gateway_make(&error);
        assert_ok(second, error);
        assert_int_equal(fstat(first, &a), 0);
        assert_int_equal(fstat(second, &b), 0);
        assert_true(a.st_ino != b.st_ino && a.st_ino != home);
        assert_true(own_namespace() == home);
        assert_int_equal(fcntl(first, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
}

/* In a child: 0 when loopback works and everything else is out of reach. */
static int try_network(int gateway)
{
        struct sockaddr_in address = {.sin_family = AF_INET};
        socklen_t size = sizeof(address);
        int listener, client;

        if (setns(gateway, CLONE_NEWNET) < 0)
                return 1;
        listener = socket(AF_INET, SOCK_STREAM, 0);
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        if (bind(listener, (struct sockaddr *)&address, sizeof(address)) < 0 ||
            listen(listener, 1) < 0 ||
            getsockname(listener, (struct sockaddr *)&address, &size) < 0)
                return 2;
        client = socket(AF_INET, SOCK_STREAM, 0);
        if (connect(client, (struct sockaddr *)&address, sizeof(address)) < 0)
                return 3;
        close(client);
        client = socket(AF_INET, SOCK_STREAM, 0);
        address.sin_addr.s_addr = inet_addr("192.0.2.1"); /* RFC 5737 */
        if (connect(client, (struct sockaddr *)&address, sizeof(address)) == 0 ||
            errno != ENETUNREACH)
                return 4;
        return 0;
}

static void test_deny_all(void **state)
{
        struct bh_error error = {0};
        _cleanup_close_ int gateway = bh_gateway_make(&error);
        pid_t child;
        int status;

        (void)state;
        assert_ok(gateway, error);
        child = fork();
        assert_true(child >= 0);
        if (child == 0)
                _exit(try_network(gateway));
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_make),
                cmocka_unit_test(test_deny_all),
        };

        if (bh_test_lacks_root("network namespaces"))
                return TEST_SKIPPED;
        return cmocka_run_group_tests(tests, NULL, NULL);
}
