/* See members.h. */
#include "broker/files/members.h"

#include <errno.h>
#include <limits.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"

enum kind { FILE_MEMBER, DIRECTORY_MEMBER, LINK_MEMBER };

struct item {
        char *path;
        enum kind kind;
        int64_t size;
};

struct bh_members {
        int64_t bytes_max, bytes;
        struct item *items;
        size_t count, capacity;
        void *files; /* tree of the regular files' paths, borrowed: what a hard link may name */
};

static int compare_paths(const void *a, const void *b)
{
        return strcmp(a, b);
}

static int compare_items(const void *a, const void *b)
{
        const struct item *left = a, *right = b;

        return strcmp(left->path, right->path);
}

static void keep(void *node)
{
        (void)node; /* the tree owns no path */
}

struct bh_members *bh_members_new(int64_t bytes_max)
{
        struct bh_members *members = bh_alloc(sizeof(*members));

        members->bytes_max = bytes_max;
        return members;
}

void bh_members_free(struct bh_members *members)
{
        if (!members)
                return;
        tdestroy(members->files, keep);
        for (size_t i = 0; i < members->count; i++)
                free(members->items[i].path);
        free(members->items);
        free(members);
}

static int refuse(struct bh_error *error, const char *name, const char *why)
{
        bh_error_refused(error, "archive_not_allowed", "", "member \"%.200s\" %s", name, why);
        return -1;
}

int bh_member_path(const char *name, char **ret, struct bh_error *error)
{
        _cleanup_free_ char *path = NULL;
        const char *at = name;
        size_t length;

        if (name[0] == '/')
                return refuse(error, name, "has an absolute path");
        while (at[0] == '.' && at[1] == '/')
                at += 2 + strspn(at + 2, "/");
        length = strlen(at);
        while (length > 0 && at[length - 1] == '/')
                length--;
        if (length >= PATH_MAX)
                return refuse(error, name, "has a path that is too long");
        path = bh_strndup(at, length);
        if (strcmp(path, ".") == 0)
                path[0] = '\0';
        for (const char *part = path; *part;) {
                size_t size = strcspn(part, "/");

                if (size == 0 || size > NAME_MAX || (size == 1 && part[0] == '.') ||
                    (size == 2 && part[0] == '.' && part[1] == '.'))
                        return refuse(error, name,
                                      "has a path with an empty, \".\", \"..\" or too "
                                      "long component");
                part += size + (part[size] == '/');
        }
        *ret = bh_steal_ptr(&path);
        return 0;
}

static size_t depth_of(const char *path)
{
        size_t depth = 0;

        for (; (path = strchr(path, '/')); path++)
                depth++;
        return depth;
}

/* See the header: ".." only first, and not beyond the root. */
static bool target_stays(const char *target, size_t depth)
{
        bool down = false;

        if (target[0] == '\0' || target[0] == '/' || strlen(target) >= PATH_MAX)
                return false;
        while (*target) {
                size_t size = strcspn(target, "/");
                bool up = size == 2 && target[0] == '.' && target[1] == '.';

                if (up && (down || depth == 0))
                        return false;
                if (up)
                        depth--;
                else if (size > 0 && !(size == 1 && target[0] == '.'))
                        down = true;
                target += size;
                target += strspn(target, "/");
        }
        return true;
}

/* Also the kind of a member that may be. */
static int judge(const struct bh_members *members, const struct bh_member *member, const char *path,
                 enum kind *ret, struct bh_error *error)
{
        _cleanup_free_ char *target = NULL;

        if (member->mode & (S_ISUID | S_ISGID))
                return refuse(error, member->name, "has a set-user-id or set-group-id bit");
        if (member->hard_link) {
                if (!member->target || bh_member_path(member->target, &target, error) < 0 ||
                    !tfind(target, &members->files, compare_paths))
                        return refuse(error, member->name,
                                      "is a hard link to what is no file of the archive before it");
                *ret = FILE_MEMBER;
                return 0;
        }
        if (S_ISREG(member->mode)) {
                *ret = FILE_MEMBER;
        } else if (S_ISDIR(member->mode)) {
                *ret = DIRECTORY_MEMBER;
        } else if (S_ISLNK(member->mode)) {
                if (!member->target || !target_stays(member->target, depth_of(path)))
                        return refuse(error, member->name,
                                      "is a symbolic link that may leave the workspace");
                *ret = LINK_MEMBER;
        } else {
                return refuse(error, member->name, "is neither a file, a directory nor a link");
        }
        return 0;
}

int bh_members_add(struct bh_members *members, const struct bh_member *member,
                   struct bh_error *error)
{
        _cleanup_free_ char *path = NULL;
        int64_t size = member->hard_link || !S_ISREG(member->mode) ? 0 : member->size;
        enum kind kind = FILE_MEMBER;
        struct item *item;

        if (bh_member_path(member->name, &path, error) < 0 ||
            judge(members, member, path, &kind, error) < 0)
                return -1;
        if (path[0] == '\0')
                return kind == DIRECTORY_MEMBER ? 0 : refuse(error, member->name, "has no name");
        if (size < 0)
                return refuse(error, member->name, "has an impossible size");
        if (members->count >= BH_MEMBERS_MAX)
                return bh_error_refused(error, "archive_not_allowed", "",
                                        "the archive has more than %d members", BH_MEMBERS_MAX);
        if (size > members->bytes_max - members->bytes)
                return bh_error_refused(error, "workspace_full", "",
                                        "the archive holds more than the workspace can");
        members->bytes += size;
        if (members->count == members->capacity) {
                members->capacity = members->capacity ? members->capacity * 2 : 64;
                members->items = bh_realloc_array(members->items, members->capacity,
                                                  sizeof(*members->items));
        }
        item = &members->items[members->count++];
        *item = (struct item){bh_steal_ptr(&path), kind, size};
        if (kind == FILE_MEMBER && !tsearch(item->path, &members->files, compare_paths))
                bh_alloc_failed();
        return 0;
}

static const struct item *find(const struct bh_members *members, char *path)
{
        const struct item key = {.path = path};

        return bsearch(&key, members->items, members->count, sizeof(key), compare_items);
}

/* No member on the way to this one is anything but a directory. */
static int check_way(const struct bh_members *members, const struct item *item,
                     struct bh_error *error)
{
        _cleanup_free_ char *path = bh_strdup(item->path);

        for (char *slash = path; (slash = strchr(slash, '/')); slash++) {
                const struct item *above;

                *slash = '\0';
                above = find(members, path);
                *slash = '/';
                if (above && above->kind != DIRECTORY_MEMBER)
                        return refuse(error, item->path, "lies beneath a file or link");
        }
        return 0;
}

int bh_members_finish(struct bh_members *members, struct bh_error *error)
{
        if (members->count == 0)
                return 0;
        qsort(members->items, members->count, sizeof(*members->items), compare_items);
        for (size_t i = 0; i < members->count; i++) {
                const struct item *item = &members->items[i];

                if (i > 0 && strcmp(item->path, item[-1].path) == 0 &&
                    (item->kind != DIRECTORY_MEMBER || item[-1].kind != DIRECTORY_MEMBER))
                        return refuse(error, item->path, "comes twice");
                if (check_way(members, item, error) < 0)
                        return -1;
        }
        return 0;
}

size_t bh_members_count(const struct bh_members *members)
{
        return members->count;
}

const char *bh_members_path(const struct bh_members *members, size_t index)
{
        return members->items[index].path;
}

bool bh_members_is_directory(const struct bh_members *members, size_t index)
{
        return members->items[index].kind == DIRECTORY_MEMBER;
}

int64_t bh_members_room(const struct bh_members *members, int64_t block)
{
        int64_t room = 0;

        for (size_t i = 0; i < members->count; i++) {
                const struct item *item = &members->items[i];

                room += item->kind == DIRECTORY_MEMBER ? block
                                                       : (item->size + block - 1) / block * block;
        }
        return room;
}
