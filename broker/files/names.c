/* See names.h. */
#include "broker/files/names.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "broker/files/place.h"

static void close_stream(DIR **stream)
{
        if (*stream)
                closedir(*stream);
}

/* Keeps names sorted; the greatest goes when there are too many. */
static void insert(struct bh_names *names, const char *name, size_t max)
{
        size_t low = 0, high = names->count;

        while (low < high) {
                size_t middle = low + (high - low) / 2;

                if (strcmp(names->items[middle], name) < 0)
                        low = middle + 1;
                else
                        high = middle;
        }
        if (low == max)
                return;
        if (names->count == max)
                free(names->items[--names->count]);
        memmove(names->items + low + 1, names->items + low,
                (names->count - low) * sizeof(*names->items));
        names->items[low] = bh_strdup(name);
        names->count++;
}

int bh_names_read(int directory, const char *from, size_t max, struct bh_names *ret)
{
        int fd = bh_place_open(directory, "", O_RDONLY | O_DIRECTORY);
        _cleanup_(close_stream) DIR *stream = fd < 0 ? NULL : fdopendir(fd);
        struct bh_names names = {.count = 0};
        struct dirent *entry;

        if (!stream) {
                int errnum = errno;

                bh_close(fd);
                return -errnum;
        }
        names.items = bh_alloc_array(max + 1, sizeof(*names.items));
        for (errno = 0; (entry = readdir(stream)); errno = 0)
                if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
                    strcmp(entry->d_name, from) >= 0)
                        insert(&names, entry->d_name, max);
        if (errno != 0) {
                int errnum = errno;

                bh_names_clear(&names);
                return -errnum;
        }
        *ret = names;
        return 0;
}

void bh_names_clear(struct bh_names *names)
{
        for (size_t i = 0; i < names->count; i++)
                free(names->items[i]);
        free(names->items);
        *names = (struct bh_names){.items = NULL};
}
