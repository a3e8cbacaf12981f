/* See root_etc.h: a fixed text for what names users, hosts and look-ups; copies of the few host
 * files that tools need and that tell nothing about this host's people or configuration. */
#include "drivers/kernel/root_etc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "drivers/kernel/root.h"

#define COPY_MAX         ((size_t)4 << 20) /* bytes; ld.so.cache is the largest */

#define TEXT_OF(number)  TEXT_OF_(number)
#define TEXT_OF_(number) #number
#define INSIDE_UID       TEXT_OF(BH_ROOT_INSIDE_UID)

static const struct {
        const char *path, *text;
} files[] = {
        {"etc/passwd", "root:x:0:0:root:/root:/usr/sbin/nologin\n"
                       "agent:x:" INSIDE_UID ":" INSIDE_UID ":agent:/workspace:/bin/sh\n"
                       "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n"},
        {"etc/group", "root:x:0:\nagent:x:" INSIDE_UID ":\nnogroup:x:65534:\n"},
        {"etc/hostname", BH_ROOT_HOSTNAME "\n"},
        {"etc/hosts", "127.0.0.1 localhost " BH_ROOT_HOSTNAME "\n"
                      "::1 localhost ip6-localhost ip6-loopback\n"},
        {"etc/nsswitch.conf", "passwd: files\ngroup: files\nshadow: files\nhosts: files dns\n"
                              "networks: files\nprotocols: files\nservices: files\n"},
        {"etc/resolv.conf", ""},
        {"etc/host.conf", "multi on\n"},
};

static const char *const copied[] = {
        "etc/ld.so.cache", "etc/localtime",  "etc/protocols",       "etc/services",
        "etc/mime.types",  "etc/os-release", "etc/ssl/openssl.cnf",
};

static int write_file(int root, const char *path, const void *data, size_t size,
                      struct bh_error *error)
{
        _cleanup_close_ int fd = openat(root, path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);

        if (fd < 0 || bh_write_full(fd, data, size) < 0 || fchmod(fd, 0644) < 0)
                return bh_error_errno(error, errno, "write /%s", path);
        return 0;
}

/* The contents behind a link, since what it points at may not be shown. */
static int copy_file(int host, int root, const char *path, struct bh_error *error)
{
        _cleanup_free_ char *data = NULL;
        size_t size;

        if (faccessat(host, path, R_OK, 0) < 0 && errno == ENOENT)
                return 0;
        if (bh_read_file(host, path, COPY_MAX, &data, &size, error) < 0)
                return -1;
        return write_file(root, path, data, size, error);
}

static int copy_files(int root, struct bh_error *error)
{
        _cleanup_close_ int host = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

        if (host < 0)
                return bh_error_errno(error, errno, "open /");
        for (size_t i = 0; i < sizeof(copied) / sizeof(copied[0]); i++) {
                if (copy_file(host, root, copied[i], error) < 0)
                        return -1;
        }
        return 0;
}

int bh_root_make_etc(int root, struct bh_error *error)
{
        if (mkdirat(root, "etc/ssl", 0755) < 0 || fchmodat(root, "etc/ssl", 0755, 0) < 0)
                return bh_error_errno(error, errno, "make /etc/ssl");
        for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
                if (write_file(root, files[i].path, files[i].text, strlen(files[i].text), error) <
                    0)
                        return -1;
        }
        return copy_files(root, error);
}
