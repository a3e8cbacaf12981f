/* See readback.h; proc(5). */
#include "drivers/kernel/readback.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/nsfs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"

#define FILE_MAX ((size_t)256 << 10) /* bytes of any of these files */

/* Bytes as \ooo: blank, tab, newline and backslash in names (mangle_path in the kernel). */
static void unescape(char *text)
{
        char *to = text;

        for (const char *from = text; *from;) {
                if (from[0] == '\\' && from[1] >= '0' && from[1] <= '3' && from[2] >= '0' &&
                    from[2] <= '7' && from[3] >= '0' && from[3] <= '7') {
                        *to++ = (char)((from[1] - '0') * 64 + (from[2] - '0') * 8 + from[3] - '0');
                        from += 4;
                } else {
                        *to++ = *from++;
                }
        }
        *to = '\0';
}

/* id parent device root target options [tags…] - type source super_options */
static int parse_line(char *line, struct bh_mount_entry *ret)
{
        char *save = NULL, *word = strtok_r(line, " ", &save);
        const char **fields[] = {NULL, NULL, &ret->device, &ret->root, &ret->target, &ret->options};
        const char **rest[] = {&ret->type, &ret->source, &ret->super_options};

        for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
                if (!word)
                        return -1;
                unescape(word);
                if (fields[i])
                        *fields[i] = word;
                word = strtok_r(NULL, " ", &save);
        }
        ret->propagates = word && strcmp(word, "-") != 0;
        while (word && strcmp(word, "-") != 0)
                word = strtok_r(NULL, " ", &save);
        for (size_t i = 0; i < sizeof(rest) / sizeof(rest[0]); i++) {
                word = word ? strtok_r(NULL, " ", &save) : NULL;
                if (!word)
                        return -1;
                unescape(word);
                *rest[i] = word;
        }
        return 0;
}

static size_t count_lines(const char *text)
{
        size_t count = 0;

        for (; *text; text++)
                count += *text == '\n';
        return count;
}

int bh_mount_table_parse_take(char *text, struct bh_mount_table *ret, struct bh_error *error)
{
        _cleanup_free_ char *owned = text;
        size_t lines = count_lines(owned), count = 0;
        _cleanup_free_ struct bh_mount_entry *entries = bh_alloc_array(lines + 1, sizeof(*entries));

        for (char *line = owned, *end; (end = strchr(line, '\n')); line = end + 1) {
                *end = '\0';
                if (parse_line(line, &entries[count++]) < 0)
                        return bh_error_set(error, BH_ERROR_INVALID,
                                            "mountinfo: line %zu is malformed", count);
        }
        ret->text = bh_steal_ptr(&owned);
        ret->entries = bh_steal_ptr(&entries);
        ret->count = count;
        return 0;
}

const struct bh_mount_entry *bh_mount_table_find(const struct bh_mount_table *table,
                                                 const char *target)
{
        for (size_t i = table->count; i > 0; i--) {
                if (strcmp(table->entries[i - 1].target, target) == 0)
                        return &table->entries[i - 1];
        }
        return NULL;
}

bool bh_mount_option(const char *options, const char *option)
{
        size_t length = strlen(option);

        for (; *options; options += strcspn(options, ","), options += *options == ',') {
                if (strcspn(options, ",") == length && strncmp(options, option, length) == 0)
                        return true;
        }
        return false;
}

void bh_mount_table_clear(struct bh_mount_table *table)
{
        free(table->text);
        free(table->entries);
        *table = (struct bh_mount_table){0};
}

static int read_parts(struct bh_readback *readback, unsigned parts, struct bh_error *error)
{
        char *text;

        if ((parts & BH_READBACK_STATUS) &&
            bh_readback_file(readback, "status", &readback->status, error) < 0)
                return -1;
        if ((parts & BH_READBACK_MOUNTS) &&
            (bh_readback_file(readback, "mountinfo", &text, error) < 0 ||
             bh_mount_table_parse_take(text, &readback->mounts, error) < 0))
                return -1;
        return 0;
}

int bh_readback_open(pid_t pid, unsigned parts, struct bh_readback *ret, struct bh_error *error)
{
        struct bh_readback readback = BH_READBACK_NONE;
        char path[32];

        snprintf(path, sizeof(path), "/proc/%d", (int)(pid ? pid : getpid()));
        readback.process = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (readback.process < 0)
                return bh_error_errno(error, errno, "open %s", path);
        if (read_parts(&readback, parts, error) < 0) {
                bh_readback_clear(&readback);
                return bh_error_prefix(error, "read back %s", path);
        }
        *ret = readback;
        return 0;
}

void bh_readback_clear(struct bh_readback *readback)
{
        readback->process = bh_close(readback->process);
        free(readback->status);
        readback->status = NULL;
        bh_mount_table_clear(&readback->mounts);
}

int bh_readback_status(const struct bh_readback *readback, const char *field, char *ret,
                       size_t size, struct bh_error *error)
{
        size_t length = strlen(field), used = 0;
        const char *line = readback->status;

        while (line && !(strncmp(line, field, length) == 0 && line[length] == ':')) {
                line = strchr(line, '\n');
                line = line ? line + 1 : NULL;
        }
        if (!line)
                return bh_error_set(error, BH_ERROR_INVALID, "status has no %s", field);
        line += length + 1;
        line += strspn(line, " \t");
        for (; *line && *line != '\n'; line++) {
                if (used + 1 >= size)
                        return bh_error_set(error, BH_ERROR_INVALID, "status: %s is too long",
                                            field);
                ret[used++] = *line == '\t' ? ' ' : *line;
        }
        while (used > 0 && ret[used - 1] == ' ')
                used--;
        ret[used] = '\0';
        return 0;
}

int bh_readback_file(const struct bh_readback *readback, const char *path, char **ret,
                     struct bh_error *error)
{
        return bh_read_file(readback->process, path, FILE_MAX, ret, NULL, error);
}

/* The link's text is "net:[4026531840]" (namespaces(7)). Reading it costs a third of stat(2)ing
 * what it stands for, which would make an inode. */
int bh_readback_namespace(const struct bh_readback *readback, const char *name, ino_t *ret,
                          struct bh_error *error)
{
        char path[32], text[64], *number, *end;
        ssize_t length;

        snprintf(path, sizeof(path), "ns/%s", name);
        length = readlinkat(readback->process, path, text, sizeof(text) - 1);
        if (length < 0)
                return bh_error_errno(error, errno, "read %s", path);
        text[length] = '\0';
        number = strchr(text, '[');
        *ret = number ? strtoul(number + 1, &end, 10) : 0;
        if (!number || end == number + 1 || *end != ']')
                return bh_error_set(error, BH_ERROR_INVALID, "%s is %s", path, text);
        return 0;
}

int bh_readback_namespace_owner(const struct bh_readback *readback, uid_t *ret,
                                struct bh_error *error)
{
        _cleanup_close_ int names = openat(readback->process, "ns/user", O_RDONLY | O_CLOEXEC);

        if (names < 0 || ioctl(names, NS_GET_OWNER_UID, ret) < 0)
                return bh_error_errno(error, errno, "read the owner of ns/user");
        return 0;
}

static int compare_numbers(const void *a, const void *b)
{
        return *(const int *)a - *(const int *)b;
}

int bh_readback_descriptors(const struct bh_readback *readback, int *ret, size_t room,
                            struct bh_error *error)
{
        int directory = openat(readback->process, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        DIR *stream = directory < 0 ? NULL : fdopendir(directory);
        struct dirent *entry;
        size_t count = 0;

        if (!stream) {
                bh_error_errno(error, errno, "list descriptors");
                return bh_close(directory);
        }
        while ((entry = readdir(stream))) {
                if (entry->d_name[0] == '.')
                        continue;
                if (count < room)
                        ret[count] = (int)strtol(entry->d_name, NULL, 10);
                count++;
        }
        closedir(stream);
        qsort(ret, count < room ? count : room, sizeof(*ret), compare_numbers);
        return (int)count;
}

int bh_readback_descriptor_flags(const struct bh_readback *readback, int fd, unsigned *ret,
                                 struct bh_error *error)
{
        _cleanup_free_ char *text = NULL;
        char path[32];
        const char *flags;

        snprintf(path, sizeof(path), "fdinfo/%d", fd);
        if (bh_readback_file(readback, path, &text, error) < 0)
                return -1;
        flags = strstr(text, "flags:");
        if (!flags)
                return bh_error_set(error, BH_ERROR_INVALID, "%s has no flags", path);
        *ret = (unsigned)strtoul(flags + strlen("flags:"), NULL, 8);
        return 0;
}
