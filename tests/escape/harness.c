/* Runs attempts in children of their own and prints what came of them; see attempt.h. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attempt.h"

#define ATTEMPT_MS 15000

static void __attribute__((format(printf, 3, 0)))
describe(struct outcome *outcome, enum verdict verdict, const char *format, va_list arguments)
{
        outcome->verdict = verdict;
        vsnprintf(outcome->detail, sizeof(outcome->detail), format, arguments);
}

void succeeded(struct outcome *outcome, const char *format, ...)
{
        va_list arguments;

        va_start(arguments, format);
        describe(outcome, SUCCEEDED, format, arguments);
        va_end(arguments);
}

void refused(struct outcome *outcome, const char *format, ...)
{
        va_list arguments;

        va_start(arguments, format);
        describe(outcome, REFUSED, format, arguments);
        va_end(arguments);
}

void unknown(struct outcome *outcome, const char *format, ...)
{
        va_list arguments;

        va_start(arguments, format);
        describe(outcome, UNKNOWN, format, arguments);
        va_end(arguments);
}

void judge(struct outcome *outcome, long result)
{
        outcome->errnum = result < 0 ? errno : 0;
        outcome->verdict = result < 0 ? REFUSED : SUCCEEDED;
}

void judge_gate(struct outcome *outcome, long result, const int *past_the_gate)
{
        judge(outcome, result);
        for (; outcome->verdict == REFUSED && *past_the_gate != 0; past_the_gate++) {
                if (outcome->errnum == *past_the_gate)
                        outcome->verdict = SUCCEEDED;
        }
}

int try_read(const char *path)
{
        uint64_t word; /* some of /proc gives only whole ones */
        int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
        ssize_t got;

        if (fd < 0)
                return -1;
        got = read(fd, &word, sizeof(word));
        close(fd);
        if (got == 0) /* covered by an empty file */
                errno = ENODATA;
        return got > 0 ? 0 : -1;
}

/* Opens a file that exists for writing. What is covered by /dev/null can be opened, and leads
 * nowhere: ENXIO. */
static int open_write(const char *path)
{
        int fd = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
        struct stat file;

        if (fd >= 0 && fstat(fd, &file) == 0 && S_ISCHR(file.st_mode) &&
            file.st_rdev == makedev(1, 3)) {
                close(fd);
                errno = ENXIO;
                return -1;
        }
        return fd;
}

int try_open_write(const char *path)
{
        int fd = open_write(path);

        if (fd < 0)
                return -1;
        close(fd);
        return 0;
}

int try_write(const char *path, const char *text)
{
        int fd = open_write(path);
        ssize_t put;

        if (fd < 0)
                return -1;
        put = write(fd, text, strlen(text));
        close(fd);
        return put < 0 ? -1 : 0;
}

const char *slurp(const char *path)
{
        static char text[16384];
        size_t size = 0;
        ssize_t got;
        int fd = open(path, O_RDONLY | O_CLOEXEC);

        if (fd < 0)
                return NULL;
        while (size < sizeof(text) - 1 &&
               (got = read(fd, text + size, sizeof(text) - 1 - size)) > 0)
                size += (size_t)got;
        close(fd);
        text[size] = '\0';
        return text;
}

/* JSON string with what our own texts may hold. */
static void print_string(const char *text)
{
        putchar('"');
        for (; *text; text++) {
                if (*text == '"' || *text == '\\')
                        printf("\\%c", *text);
                else if ((unsigned char)*text < 0x20 || (unsigned char)*text > 0x7e)
                        printf("\\u%04x", (unsigned)(unsigned char)*text);
                else
                        putchar(*text);
        }
        putchar('"');
}

void print_result(const char *name, const char *tried, const struct outcome *outcome)
{
        static const char *const verdicts[] = {
                [REFUSED] = "refused", [SUCCEEDED] = "succeeded", [UNKNOWN] = "unknown"};

        printf("{\"name\":");
        print_string(name);
        printf(",\"tried\":");
        print_string(tried);
        printf(",\"result\":\"%s\",\"detail\":", verdicts[outcome->verdict]);
        if (outcome->detail[0] != '\0')
                print_string(outcome->detail);
        else
                print_string(outcome->errnum ? strerror(outcome->errnum) : "");
        printf("}\n");
        fflush(stdout);
}

/* The child's part. The attempt's own outcome goes through the pipe in one write. */
static void run_child(const struct attempt *attempt, const struct canaries *canaries, int result_fd,
                      int private_mounts)
{
        struct outcome outcome = {.verdict = UNKNOWN, .detail = "the attempt said nothing"};

        if (private_mounts &&
            (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0))
                unknown(&outcome, "no mount namespace to try in: %s", strerror(errno));
        else {
                outcome.detail[0] = '\0';
                attempt->run(canaries, &outcome);
        }
        if (write(result_fd, &outcome, sizeof(outcome)) != (ssize_t)sizeof(outcome))
                _exit(1);
        _exit(0);
}

/* Reads the outcome, or makes one from how the child ended. */
static void collect(pid_t child, int result_fd, struct outcome *outcome)
{
        struct pollfd readable = {.fd = result_fd, .events = POLLIN};
        int ready = poll(&readable, 1, ATTEMPT_MS);
        ssize_t got = ready == 1 ? read(result_fd, outcome, sizeof(*outcome)) : 0;
        int status;

        if (ready != 1)
                kill(child, SIGKILL);
        while (waitpid(child, &status, 0) < 0 && errno == EINTR)
                ;
        if (got == (ssize_t)sizeof(*outcome))
                return;
        if (ready != 1)
                unknown(outcome, "no answer within %d ms", ATTEMPT_MS);
        else if (WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS)
                refused(outcome, "killed by SIGSYS");
        else if (WIFSIGNALED(status))
                unknown(outcome, "killed by signal %d", WTERMSIG(status));
        else
                unknown(outcome, "ended with %d without an answer", WEXITSTATUS(status));
}

enum verdict run_attempt(const struct attempt *attempt, const struct canaries *canaries,
                         int private_mounts)
{
        struct outcome outcome = {.verdict = UNKNOWN};
        int ends[2];
        pid_t child;

        if (pipe2(ends, O_CLOEXEC) < 0) {
                unknown(&outcome, "no pipe: %s", strerror(errno));
                print_result(attempt->name, attempt->tried, &outcome);
                return UNKNOWN;
        }
        child = fork();
        if (child == 0)
                run_child(attempt, canaries, ends[1], private_mounts);
        close(ends[1]);
        if (child < 0)
                unknown(&outcome, "no process: %s", strerror(errno));
        else
                collect(child, ends[0], &outcome);
        close(ends[0]);
        print_result(attempt->name, attempt->tried, &outcome);
        return outcome.verdict;
}
