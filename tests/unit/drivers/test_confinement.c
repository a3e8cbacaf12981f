/* The boundaries of lab.h: what a workload tries and does not get. Each line is one attempt, run by
 * Python inside the boundary, with the error that must meet it. tests/escape tries more, through
 * the broker. */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "lab.h"
#include "needs_root.h"

#define RUN(...) ((const char *const[]){__VA_ARGS__, NULL})

/* c(name, …): the errno of a libc call that failed, or "ok". */
#define PRELUDE                                                                \
        "import ctypes, errno, os, socket, sys\n"                              \
        "libc = ctypes.CDLL(None, use_errno=True)\n"                           \
        "def c(name, *a):\n"                                                   \
        "    r = getattr(libc, name)(*a)\n"                                    \
        "    return 'ok' if r >= 0 else errno.errorcode[ctypes.get_errno()]\n" \
        "def p(f, *a):\n"                                                      \
        "    try: f(*a); return 'ok'\n"                                        \
        "    except OSError as e: return errno.errorcode[e.errno]\n"           \
        "def w(path, text='1'):\n"                                             \
        "    with open(path, 'w') as f: f.write(text)\n"

static struct bh_lab lab;
static struct bh_lab_outcome outcome;

static void attempt(const char *expression, const char *answer)
{
        _cleanup_free_ char *script = bh_format("%sprint(%s)", PRELUDE, expression);
        _cleanup_free_ char *wanted = bh_format("%s\n", answer);

        bh_lab_command(&lab, RUN("python3", "-c", script), &outcome);
        if (outcome.prepared < 0)
                fail_msg("[%s] %s", outcome.error.subject, outcome.error.message);
        if (strcmp(outcome.output, wanted) != 0)
                fail_msg("%s: %s", expression, outcome.output);
}

static void test_attempts(void **state)
{
        static const struct {
                const char *expression, *answer;
                const char *guest; /* what a userkernel answers instead: about what is its own */
        } attempts[] = {
                /* mounts and namespaces */
                {"c('mount', b'x', b'/tmp', b'tmpfs', 0, None)", "EPERM", NULL},
                {"c('umount2', b'/proc/keys', 2)", "EPERM", NULL},
                {"c('unshare', 0x10000000)", "EPERM", NULL},
                {"c('unshare', 0x00020000)", "EPERM", NULL},
                {"c('setns', os.open('/proc/self/ns/net', 0), 0)", "EPERM", NULL},
                {"c('chroot', b'/tmp')", "EPERM", NULL},
                {"c('syscall', 435, None, 0)", "ENOSYS", NULL},      /* clone3 */
                {"c('syscall', 428, -100, b'/', 0)", "EPERM", NULL}, /* open_tree */
                /* kernel surface */
                {"c('syscall', 321, 0, None, 0)", "EPERM", NULL}, /* bpf, x86-64's number */
                {"c('syscall', 425, 1, None)", "EPERM", NULL},    /* io_uring_setup */
                {"c('ptrace', 0, 0, None, None)", "EPERM", NULL},
                {"c('personality', 0x0040000)", "EPERM", NULL},
                {"c('ioctl', 0, 0x5412, b'x')", "EPERM", NULL},
                {"p(socket.socket, socket.AF_INET, socket.SOCK_RAW, 1)", "EPERM", NULL},
                {"p(socket.socket, socket.AF_PACKET, socket.SOCK_DGRAM)", "EPERM", NULL},
                /* identity */
                /* there is no such uid inside, or it is init's */
                {"c('setuid', 0) in ('EINVAL', 'EPERM')", "True", NULL},
                {"c('setgroups', 1, b'\\0\\0\\0\\0')", "EPERM", NULL},
                {"c('sethostname', b'x', 1)", "EPERM", NULL},
                {"c('setpriority', 0, 0, -5)", "EACCES", "ok"},
                {"p(w, '/proc/self/oom_score_adj', '-1')", "EACCES", "ok"},
                {"p(w, '/proc/self/uid_map', '0 1000 1')", "EPERM", NULL},
                /* files */
                {"p(w, '/usr/x')", "EROFS", "EACCES"},
                {"p(w, '/dev/x')", "EROFS", "EACCES"},
                {"p(w, '/proc/sys/kernel/core_pattern')", "EROFS", "EACCES"},
                {"p(w, '/proc/sys/vm/drop_caches')", "EROFS", "EACCES"},
                {"p(os.mknod, '/tmp/n', 0o20666, os.makedev(1, 1))", "EPERM", NULL},
                {"p(os.mknod, '/tmp/n', 0o60666, os.makedev(254, 0))", "EPERM", NULL},
                {"p(os.listdir, '/root')", "EACCES", NULL},
                {"p(os.listdir, '/proc/1/root')", "ENOENT", "EACCES"},
                {"p(os.listdir, '/sys')", "ENOENT", "ok"},
                {"p(os.readlink, '/proc/1/exe')", "ENOENT", "EACCES"},
                {"p(os.open, '/dev/tty', 2)", "ENOENT", "EIO"},
                {"p(os.open, '/dev/ptmx', 2)", "ENOENT", "ok"},
                {"p(os.chmod, '/etc/passwd', 0o666)", "EROFS", "EPERM"},
                {"p(os.kill, 1, 9)", "EPERM", NULL},
                {"[open(f).read() for f in ('/proc/keys', '/proc/timer_list') if "
                 "os.path.exists(f)] in "
                 "(['', ''], [])",
                 "True", NULL},
                {"[int(d) for d in os.listdir('/proc') if d.isdigit()] == [os.getpid()]", "True",
                 "False"},
                {"os.listdir('/proc/acpi') if os.path.exists('/proc/acpi') else []", "[]", NULL},
                {"os.path.exists(os.ctermid())", "False", "True"},
                /* network */
                {"p(socket.create_connection, ('192.0.2.1', 80), 1)", "ENETUNREACH",
                 "EHOSTUNREACH"},
                {"p(socket.create_connection, ('2001:db8::1', 80), 1)", "ENETUNREACH",
                 "EHOSTUNREACH"},
                {"p(socket.create_connection, ('127.0.0.1', 22), 1)", "ECONNREFUSED", NULL},
                {"p(socket.socket, socket.AF_NETLINK, socket.SOCK_RAW, 0)", "EPERM", NULL},
                {"[l.split(':')[0].strip() for l in open('/proc/net/dev') if ':' in l]", "['lo']",
                 NULL},
        };

        (void)state;
        for (size_t i = 0; i < sizeof(attempts) / sizeof(attempts[0]); i++) {
                bool guest = bh_lab_tier() == BH_TIER_USERKERNEL && attempts[i].guest;

                attempt(attempts[i].expression, guest ? attempts[i].guest : attempts[i].answer);
        }
}

/* What ordinary programs need still works. */
static void test_ordinary_work(void **state)
{
        static const char *const works[] = {
                "__import__('subprocess').run(['true']).returncode == 0",
                "__import__('threading').Thread(target=print).start() is None",
                "__import__('multiprocessing').Pool(2).map(abs, [-1, -2]) == [1, 2]",
                "__import__('tempfile').TemporaryFile().write(b'x') == 1",
                "(lambda pair: pair[0].send(b'x'))(socket.socketpair()) == 1",
                "socket.create_server(('127.0.0.1', 0)).getsockname()[0] == '127.0.0.1'",
                "socket.getaddrinfo('localhost', 80)[0][4][0] in ('::1', '127.0.0.1')",
                "len(os.urandom(8)) == 8 and os.cpu_count() > 0",
                "__import__('mmap').mmap(-1, 4096).write(b'x') == 1",
                "__import__('pwd').getpwuid(os.getuid()).pw_name == 'agent'",
                "__import__('ssl').create_default_context() is not None",
        };

        (void)state;
        for (size_t i = 0; i < sizeof(works) / sizeof(works[0]); i++) {
                _cleanup_free_ char *script = bh_format("%sassert %s", PRELUDE, works[i]);

                bh_lab_command(&lab, RUN("python3", "-c", script), &outcome);
                if (outcome.prepared < 0 || outcome.end.by_signal || outcome.end.status != 0)
                        fail_msg("%s: %s", works[i], outcome.output);
        }
}

/* A listener in the host's abstract namespace cannot be reached. */
static void test_abstract_sockets_of_the_host(void **state)
{
        struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "\0bulkhead-canary"};
        _cleanup_close_ int canary = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 16);

        (void)state;
        assert_int_equal(bind(canary, (struct sockaddr *)&address, size), 0);
        assert_int_equal(listen(canary, 1), 0);
        attempt("p(socket.socket(socket.AF_UNIX).connect, b'\\0bulkhead-canary')", "ECONNREFUSED");
}

/* FIELD-CASES A07: what the caller has open, also without close-on-exec, is not there. */
static void test_inherited_descriptors(void **state)
{
        int leaked = open("/etc/shadow", O_RDONLY); /* on purpose not close-on-exec */

        (void)state;
        assert_int_equal(dup2(leaked, 9), 9);
        attempt("sorted(os.listdir('/proc/self/fd'))", "['0', '1', '2', '3']");
        attempt("p(os.fstat, 9)", "EBADF");
        bh_close(9);
        bh_close(leaked);
}

static void test_fork_bomb_is_bounded(void **state)
{
        const struct bh_lab_input input = {.kill_after_ms = 500};
        _cleanup_(bh_plan_cleanup) struct bh_plan *plan =
                bh_lab_plan(RUN("python3", "-c",
                                "import os\nwhile 1:\n try: os.fork()\n"
                                " except OSError: pass"));

        (void)state;
        plan->limits.value[BH_LIMIT_PIDS] = 20;
        bh_lab_run(&lab, plan, &input, &outcome);
        json_decref(outcome.observed);
        assert_int_equal(outcome.prepared, 0);
        assert_true(outcome.end.by_signal);
        assert_int_equal(outcome.end.status, SIGKILL);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_attempts),
                cmocka_unit_test(test_ordinary_work),
                cmocka_unit_test(test_abstract_sockets_of_the_host),
                cmocka_unit_test(test_inherited_descriptors),
                cmocka_unit_test(test_fork_bomb_is_bounded),
        };

        if (bh_test_lacks_root("boundaries"))
                return TEST_SKIPPED;
        return bh_lab_run_tests(&lab, tests);
}
