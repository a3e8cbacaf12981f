/* base/fd: confined opening, directories, whole files, seals; in a scratch directory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/fd.h"

static char scratch[64];
static int directory = -1; /* of scratch */

static int setup(void **state)
{
        (void)state;
        snprintf(scratch, sizeof(scratch), "/tmp/bulkhead-test-fd-XXXXXX");
        if (!mkdtemp(scratch))
                return -1;
        directory = open(scratch, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        return directory < 0 ? -1 : 0;
}

static int remove_one(const char *path, const struct stat *info, int type, struct FTW *walk)
{
        (void)info, (void)type, (void)walk;
        return remove(path);
}

static int teardown(void **state)
{
        (void)state;
        directory = bh_close(directory);
        return nftw(scratch, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static void write_text(const char *name, const char *text)
{
        _cleanup_close_ int fd =
                openat(directory, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

        assert_true(fd >= 0);
        assert_int_equal(bh_write_full(fd, text, strlen(text)), 0);
}

static void assert_content(const char *name, const char *expected)
{
        _cleanup_free_ char *data = NULL;
        size_t size;

        assert_int_equal(bh_read_file(directory, name, 1 << 20, &data, &size, NULL), 0);
        assert_string_equal(data, expected);
        assert_int_equal(size, strlen(expected));
}

static mode_t mode_of(const char *name)
{
        struct stat info;

        assert_int_equal(fstatat(directory, name, &info, AT_SYMLINK_NOFOLLOW), 0);
        return info.st_mode;
}

static bool is_cloexec(int fd)
{
        return fcntl(fd, F_GETFD) & FD_CLOEXEC;
}

static void test_close_keeps_errno(void **state)
{
        (void)state;
        errno = EILSEQ;
        assert_int_equal(bh_close(-1), -1);
        assert_int_equal(errno, EILSEQ);
        assert_int_equal(bh_close(1000000), -1);
        assert_int_equal(errno, EILSEQ);
}

static void test_open_beneath(void **state)
{
        (void)state;
        _cleanup_close_ int made = -1, inner = -1;
        struct bh_error error = {0};

        assert_int_equal(mkdirat(directory, "in", 0755), 0);
        made = bh_open_beneath(directory, "in/file", O_WRONLY | O_CREAT | O_EXCL, 0640, &error);
        assert_true(made >= 0);
        assert_true(is_cloexec(made));
        assert_int_equal(mode_of("in/file") & 0777, 0640);
        /* ".." that stays below is fine. */
        inner = bh_open_beneath(directory, "in/../in/file", O_RDONLY, 0, &error);
        assert_true(inner >= 0);
}

static void test_open_beneath_refuses_to_leave(void **state)
{
        (void)state;
        _cleanup_close_ int self = open("/proc/self", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        static const struct {
                const char *path;
                int errnum;
        } cases[] = {
                {"/etc/passwd", EXDEV}, {"../x", EXDEV},           {"sub/../../x", EXDEV},
                {"to-file", ELOOP},     {"to-directory/x", ELOOP}, {"out/passwd", ELOOP},
                {"dangling", ELOOP},    {"missing", ENOENT},       {"", ENOENT},
        };
        struct bh_error error;

        write_text("file", "x");
        assert_int_equal(mkdirat(directory, "sub", 0755), 0);
        assert_int_equal(symlinkat("file", directory, "to-file"), 0);
        assert_int_equal(symlinkat("sub", directory, "to-directory"), 0);
        assert_int_equal(symlinkat("/etc", directory, "out"), 0);
        assert_int_equal(symlinkat("nowhere", directory, "dangling"), 0);
        for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
                memset(&error, 0, sizeof(error));
                assert_int_equal(bh_open_beneath(directory, cases[i].path, O_RDONLY, 0, &error),
                                 -1);
                assert_int_equal(error.code, BH_ERROR_SYSTEM);
                assert_int_equal(error.errnum, cases[i].errnum);
        }
        /* O_CREAT does not write through a link either. */
        assert_int_equal(bh_open_beneath(directory, "dangling", O_WRONLY | O_CREAT, 0600, &error),
                         -1);
        assert_int_equal(faccessat(directory, "nowhere", F_OK, 0), -1);
        /* Magic links. */
        assert_true(self >= 0);
        assert_int_equal(bh_open_beneath(self, "cwd/x", O_RDONLY, 0, &error), -1);
        assert_int_equal(bh_open_beneath(self, "exe", O_RDONLY, 0, &error), -1);
}

static void test_make_directory(void **state)
{
        (void)state;
        _cleanup_free_ char *path = bh_format("%s//a/./b/c//", scratch);
        _cleanup_close_ int first = -1, again = -1, root = -1;
        struct stat a, b;
        mode_t old = umask(0077);

        first = bh_make_directory(path, 0751, NULL);
        umask(old);
        assert_true(first >= 0);
        assert_true(is_cloexec(first));
        assert_int_equal(mode_of("a") & 0777, 0751);
        assert_int_equal(mode_of("a/b") & 0777, 0751);
        assert_int_equal(mode_of("a/b/c") & 0777, 0751);
        /* What is there stays as it is. */
        again = bh_make_directory(path, 0700, NULL);
        assert_true(again >= 0);
        assert_int_equal(mode_of("a/b/c") & 0777, 0751);
        assert_int_equal(fstat(first, &a), 0);
        assert_int_equal(fstat(again, &b), 0);
        assert_int_equal(a.st_ino, b.st_ino);
        assert_int_equal(fsync(again), 0); /* not O_PATH */
        root = bh_make_directory("/", 0755, NULL);
        assert_true(root >= 0);
}

static void test_make_directory_refuses(void **state)
{
        (void)state;
        _cleanup_free_ char *through_file = bh_format("%s/file/x", scratch);
        _cleanup_free_ char *parent = bh_format("%s/new/../x", scratch);
        _cleanup_free_ char *dangling = bh_format("%s/dangling/x", scratch);
        char name[300];
        _cleanup_free_ char *too_long = NULL;
        struct bh_error error = {0};

        write_text("file", "x");
        assert_int_equal(symlinkat("nowhere", directory, "dangling"), 0);
        memset(name, 'n', sizeof(name));
        name[sizeof(name) - 1] = '\0';
        too_long = bh_format("%s/%s", scratch, name);
        assert_int_equal(bh_make_directory("relative", 0755, &error), -1);
        assert_int_equal(error.code, BH_ERROR_INVALID);
        assert_int_equal(bh_make_directory("", 0755, &error), -1);
        assert_int_equal(bh_make_directory(parent, 0755, &error), -1);
        assert_int_equal(error.code, BH_ERROR_INVALID);
        assert_int_equal(bh_make_directory(through_file, 0755, &error), -1);
        assert_int_equal(error.errnum, ENOTDIR);
        assert_int_equal(bh_make_directory(too_long, 0755, &error), -1);
        assert_int_equal(error.errnum, ENAMETOOLONG);
        assert_int_equal(bh_make_directory(dangling, 0755, &error), -1);
        assert_int_equal(error.errnum, ENOENT);
}

static volatile sig_atomic_t interruptions;

static void on_alarm(int signal)
{
        (void)signal;
        interruptions++;
}

static void test_full_io_over_interruptions(void **state)
{
        (void)state;
        const struct sigaction action = {.sa_handler = on_alarm}; /* no SA_RESTART */
        const struct itimerval often = {{0, 2000}, {0, 2000}}, never = {{0, 0}, {0, 0}};
        static char sent[200000], got[200000];
        struct sigaction old;
        int ends[2], status;
        pid_t child;

        for (size_t i = 0; i < sizeof(sent); i++)
                sent[i] = (char)(i * 31 >> 3);
        assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
        child = fork();
        assert_true(child >= 0);
        if (child == 0) {
                sigaction(SIGALRM, &action, NULL);
                setitimer(ITIMER_REAL, &often, NULL);
                close(ends[0]);
                if (bh_write_full(ends[1], sent, sizeof(sent) / 2) < 0)
                        _exit(1);
                for (int i = 0; i < 10; i++)
                        usleep(10000); /* the reader waits, and is interrupted */
                _exit(bh_write_full(ends[1], sent + sizeof(sent) / 2, sizeof(sent) / 2) == 0 ? 0
                                                                                             : 2);
        }
        close(ends[1]);
        usleep(20000); /* the writer stands at a full pipe and is interrupted there */
        assert_int_equal(sigaction(SIGALRM, &action, &old), 0);
        assert_int_equal(setitimer(ITIMER_REAL, &often, NULL), 0);
        assert_int_equal(bh_read_full(ends[0], got, sizeof(got)), sizeof(got));
        assert_int_equal(setitimer(ITIMER_REAL, &never, NULL), 0);
        assert_int_equal(sigaction(SIGALRM, &old, NULL), 0);
        assert_true(interruptions > 0);
        assert_memory_equal(sent, got, sizeof(got));
        assert_int_equal(bh_read_full(ends[0], got, sizeof(got)), 0);
        close(ends[0]);
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
}

static void test_full_io_errors(void **state)
{
        (void)state;
        char buffer[8];

        assert_int_equal(bh_read_full(-1, buffer, 8), -1);
        assert_int_equal(errno, EBADF);
        assert_int_equal(bh_pread_full(-1, buffer, 8, 0), -1);
        assert_int_equal(bh_write_full(-1, buffer, 8), -1);
        assert_int_equal(bh_read_full(-1, buffer, 0), 0);
        assert_int_equal(bh_write_full(-1, buffer, 0), 0);
}

static void test_pread(void **state)
{
        (void)state;
        _cleanup_close_ int fd = -1;
        char buffer[8] = "";

        write_text("p", "0123456789");
        fd = bh_open_beneath(directory, "p", O_RDONLY, 0, NULL);
        assert_true(fd >= 0);
        assert_int_equal(bh_pread_full(fd, buffer, 4, 3), 4);
        assert_memory_equal(buffer, "3456", 4);
        assert_int_equal(bh_pread_full(fd, buffer, 8, 7), 3);
        assert_int_equal(bh_pread_full(fd, buffer, 8, 100), 0);
        assert_int_equal(lseek(fd, 0, SEEK_CUR), 0);
}

/* Sizes around the chunks that reading grows by. */
static void test_read_file_sizes(void **state)
{
        (void)state;
        static const size_t sizes[] = {0, 1, 4095, 4096, 4097, 8191, 8192, 8193, 100000};

        for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
                _cleanup_free_ char *text = bh_alloc(sizes[i] + 1);
                _cleanup_free_ char *data = NULL;
                struct bh_error error = {0};
                size_t size = 1;

                memset(text, 'z', sizes[i]);
                write_text("sized", text);
                assert_int_equal(bh_read_file(directory, "sized", sizes[i], &data, &size, &error),
                                 0);
                assert_int_equal(size, sizes[i]);
                assert_string_equal(data, text);
                if (sizes[i] == 0)
                        continue;
                free(bh_steal_ptr(&data));
                assert_int_equal(
                        bh_read_file(directory, "sized", sizes[i] - 1, &data, &size, &error), -1);
                assert_int_equal(error.code, BH_ERROR_INVALID);
                assert_null(data);
        }
}

static void test_read_file_elsewhere(void **state)
{
        (void)state;
        _cleanup_free_ char *data = NULL, *none = NULL;
        struct bh_error error = {0};

        /* stat(2) says 0 bytes. */
        assert_int_equal(bh_read_file(AT_FDCWD, "/proc/self/status", 1 << 16, &data, NULL, &error),
                         0);
        assert_memory_equal(data, "Name:", 5);
        assert_int_equal(bh_read_file(directory, "missing", 10, &none, NULL, &error), -1);
        assert_int_equal(error.errnum, ENOENT);
        assert_int_equal(bh_read_file(directory, ".", 10, &none, NULL, &error), -1);
        assert_int_equal(error.errnum, EISDIR);
        assert_int_equal(bh_read_file(AT_FDCWD, "/dev/zero", 100, &none, NULL, &error), -1);
        assert_int_equal(error.code, BH_ERROR_INVALID);
        assert_null(none);
}

/* Names in the scratch directory, without "." and "..". */
static size_t count_entries(void)
{
        DIR *stream = opendir(scratch);
        size_t count = 0;

        assert_non_null(stream);
        while (readdir(stream))
                count++;
        closedir(stream);
        return count - 2;
}

static void test_write_file_atomic(void **state)
{
        (void)state;
        mode_t old = umask(0077);

        assert_int_equal(bh_write_file_atomic(directory, "new", "one", 3, 0644, NULL), 0);
        umask(old);
        assert_content("new", "one");
        assert_int_equal(mode_of("new") & 0777, 0644);
        assert_int_equal(bh_write_file_atomic(directory, "new", "", 0, 0600, NULL), 0);
        assert_content("new", "");
        assert_int_equal(mode_of("new") & 0777, 0600);
        assert_int_equal(count_entries(), 1);
}

static void test_write_file_atomic_by_path(void **state)
{
        (void)state;
        _cleanup_free_ char *absolute = bh_format("%s/sub/file", scratch);

        assert_int_equal(mkdirat(directory, "sub", 0755), 0);
        assert_int_equal(bh_write_file_atomic(AT_FDCWD, absolute, "abs", 3, 0644, NULL), 0);
        assert_content("sub/file", "abs");
        assert_int_equal(bh_write_file_atomic(directory, "sub/file", "rel", 3, 0644, NULL), 0);
        assert_content("sub/file", "rel");
}

static void test_write_file_atomic_replaces_a_link(void **state)
{
        (void)state;
        write_text("target", "untouched");
        assert_int_equal(symlinkat("target", directory, "link"), 0);
        assert_int_equal(bh_write_file_atomic(directory, "link", "mine", 4, 0644, NULL), 0);
        assert_content("target", "untouched");
        assert_content("link", "mine");
        assert_true(S_ISREG(mode_of("link")));
}

static void test_write_file_atomic_failures_leave_nothing(void **state)
{
        (void)state;
        struct bh_error error = {0};

        assert_int_equal(mkdirat(directory, "taken", 0755), 0);
        assert_int_equal(bh_write_file_atomic(directory, "taken", "x", 1, 0644, &error), -1);
        assert_int_equal(error.errnum, EISDIR);
        assert_int_equal(bh_write_file_atomic(directory, "none/x", "x", 1, 0644, &error), -1);
        assert_int_equal(error.errnum, ENOENT);
        assert_int_equal(bh_write_file_atomic(directory, "", "x", 1, 0644, &error), -1);
        assert_int_equal(count_entries(), 1);
}

static void test_write_attribute(void **state)
{
        (void)state;
        struct bh_error error = {0};

        write_text("attribute", "");
        assert_int_equal(bh_write_attribute(directory, "attribute", "max", &error), 0);
        assert_content("attribute", "max");
        assert_int_equal(bh_write_attribute(directory, "missing", "1", &error), -1);
        assert_int_equal(error.errnum, ENOENT);
        assert_int_equal(faccessat(directory, "missing", F_OK, 0), -1);
        assert_int_equal(bh_write_attribute(AT_FDCWD, "/dev/full", "1", &error), -1);
        assert_int_equal(error.errnum, ENOSPC);
}

static void test_memfd_is_sealed(void **state)
{
        (void)state;
        _cleanup_close_ int fd = bh_memfd_sealed("test", "data", 4, NULL);
        char buffer[8] = "";

        assert_true(fd >= 0);
        assert_true(is_cloexec(fd));
        assert_int_equal(bh_memfd_check_sealed(fd, NULL), 0);
        assert_int_equal(bh_read_full(fd, buffer, sizeof(buffer)), 4);
        assert_string_equal(buffer, "data");
        assert_int_equal(pwrite(fd, "x", 1, 0), -1);
        assert_int_equal(errno, EPERM);
        assert_int_equal(ftruncate(fd, 1), -1);
        assert_int_equal(ftruncate(fd, 100), -1);
        assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE), -1);
        assert_ptr_equal(mmap(NULL, 4, PROT_WRITE, MAP_SHARED, fd, 0), MAP_FAILED);
}

static void test_memfd_check_refuses(void **state)
{
        (void)state;
        _cleanup_close_ int open_memfd = memfd_create("x", MFD_CLOEXEC | MFD_ALLOW_SEALING);
        _cleanup_close_ int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
        struct bh_error error = {0};

        assert_int_equal(bh_memfd_check_sealed(open_memfd, &error), -1);
        assert_int_equal(error.code, BH_ERROR_INVALID);
        assert_int_equal(fcntl(open_memfd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW), 0);
        assert_int_equal(bh_memfd_check_sealed(open_memfd, &error), -1);
        /* Keeps mappings made before writable. */
        assert_int_equal(fcntl(open_memfd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE), 0);
        assert_int_equal(bh_memfd_check_sealed(open_memfd, &error), -1);
        assert_int_equal(bh_memfd_check_sealed(file, &error), -1);
        assert_int_equal(error.code, BH_ERROR_INVALID);
        assert_int_equal(bh_memfd_check_sealed(-1, &error), -1);
        assert_int_equal(error.errnum, EBADF);
}

#define scratch_test(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_close_keeps_errno),
                scratch_test(test_open_beneath),
                scratch_test(test_open_beneath_refuses_to_leave),
                scratch_test(test_make_directory),
                scratch_test(test_make_directory_refuses),
                cmocka_unit_test(test_full_io_over_interruptions),
                cmocka_unit_test(test_full_io_errors),
                scratch_test(test_pread),
                scratch_test(test_read_file_sizes),
                scratch_test(test_read_file_elsewhere),
                scratch_test(test_write_file_atomic),
                scratch_test(test_write_file_atomic_by_path),
                scratch_test(test_write_file_atomic_replaces_a_link),
                scratch_test(test_write_file_atomic_failures_leave_nothing),
                scratch_test(test_write_attribute),
                cmocka_unit_test(test_memfd_is_sealed),
                cmocka_unit_test(test_memfd_check_refuses),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
