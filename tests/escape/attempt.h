/* The inside part of the escape suite: attempts at what a boundary must refuse. Each runs in a
 * process of its own and says whether the forbidden thing worked.
 *
 * An attempt must be able to succeed: test_escape.py also runs the whole table as root
 * without any boundary and sees it do so. */
#ifndef BULKHEAD_TESTS_ESCAPE_ATTEMPT_H
#define BULKHEAD_TESTS_ESCAPE_ATTEMPT_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* What the outside part prepared and must find untouched. NULL or 0: not given, and the
 * attempts that need it are "unknown". */
struct canaries {
        const char *file;         /* absolute path of a file of the host */
        const char *abstract;     /* name of an abstract unix socket of the host */
        const char *socket;       /* path of a unix socket of the host */
        int tcp_port;             /* listener on the host's 127.0.0.1 */
        pid_t pid;                /* process of the host */
        int shm_key;              /* System V segment of the host */
        const char *outside_ipv4; /* address that no boundary may reach */
        const char *outside_ipv6;
};

enum verdict { REFUSED, SUCCEEDED, UNKNOWN };

struct outcome {
        enum verdict verdict;
        int errnum;
        char detail[160];
};

struct attempt {
        const char *name;
        const char *tried;
        void (*run)(const struct canaries *canaries, struct outcome *outcome);
};

/* Each ends with a NULL name. */
extern const struct attempt file_attempts[];
extern const struct attempt kernel_attempts[];
extern const struct attempt mount_attempts[];
extern const struct attempt network_attempts[];
extern const struct attempt privilege_attempts[];
extern const struct attempt process_attempts[];
extern const struct attempt shared_attempts[];

/* ---- for the attempts ---- */

/* result < 0: refused, with errno; else it worked. */
void judge(struct outcome *outcome, long result);

/* Like judge, for calls that fail in any case here: the listed errno values (up to 0) are
 * what the kernel says to one who has the right and asked for nonsense. */
void judge_gate(struct outcome *outcome, long result, const int *past_the_gate);

/* The forbidden thing worked, or did not, for a reason that is no errno. */
void succeeded(struct outcome *outcome, const char *format, ...)
        __attribute__((format(printf, 2, 3)));
void refused(struct outcome *outcome, const char *format, ...)
        __attribute__((format(printf, 2, 3)));

/* The attempt could not be made at all. */
void unknown(struct outcome *outcome, const char *format, ...)
        __attribute__((format(printf, 2, 3)));

/* Opens for reading and takes some bytes. Returns 0, or -1 with errno
 * (ENODATA: it is empty). */
int try_read(const char *path);

/* Opens an existing file for writing, without writing. Returns 0, or -1 with errno. */
int try_open_write(const char *path);

/* Writes text to an existing file. Returns 0, or -1 with errno. */
int try_write(const char *path, const char *text);

/* Whole small file as a string, or NULL. Static buffer. */
const char *slurp(const char *path);

/* ---- for main ---- */

/* Runs one attempt in a child and prints its line. private_mounts: each attempt first gets a
 * mount namespace of its own (for a run without a boundary). Returns the verdict. */
enum verdict run_attempt(const struct attempt *attempt, const struct canaries *canaries,
                         int private_mounts);

/* Prints one result line. */
void print_result(const char *name, const char *tried, const struct outcome *outcome);

/* The limits' part: uses up what a limit should keep. Returns the process's exit status. */
int exhaust(const char *what, long long limit);

/* limits_host.c */

/* Keeps the lock of stdout's pipe taken, beside `limit` processes that want the processors. */
int hold_output(long long limit);
/* Takes all that a user may have of inotify instances and queued signals, says how many, waits. */
int hold_user_counts(void);
void sockets(long long limit, struct outcome *outcome);

/* Descriptors above 2 that the program was started with. */
extern int inherited_descriptors;

#endif
