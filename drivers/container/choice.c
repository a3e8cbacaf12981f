/* See choice.h. */
#include "drivers/container/choice.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "drivers/container/runtime.h"

#define FILE_MAX     65536
#define WORKS_FOR_US ((int64_t)600 * 1000000)
#define LACKS_FOR_US ((int64_t)60 * 1000000)

static char *path_of(const struct bh_driver_host *host, enum bh_tier tier, const char *suffix)
{
        return bh_format("%s/runtime/%s%s", host->run_dir, bh_tier_name(tier), suffix);
}

char *bh_choice_key(enum bh_tier tier)
{
        char *key = bh_strdup("");

        for (const struct bh_runtime *runtime = bh_runtimes; runtime->name; runtime++) {
                _cleanup_free_ char *path = NULL, *before = key;
                struct stat file = {.st_size = 0};

                if (runtime->tier != tier) {
                        before = NULL;
                        continue;
                }
                path = bh_runtime_find(runtime->program, NULL);
                if (path && stat(path, &file) < 0)
                        file = (struct stat){.st_size = 0};
                key = bh_format("%s%s:%s:%llu:%lld:%lld.%ld\n", before, runtime->name,
                                path ? path : "", (unsigned long long)file.st_ino,
                                (long long)file.st_size, (long long)file.st_mtim.tv_sec,
                                file.st_mtim.tv_nsec);
        }
        return key;
}

static json_t *read_found(const struct bh_driver_host *host, enum bh_tier tier)
{
        _cleanup_free_ char *path = path_of(host, tier, ".json"), *text = NULL;
        json_t *found = NULL;
        size_t size;

        if (bh_read_file(AT_FDCWD, path, FILE_MAX, &text, &size, NULL) < 0 ||
            bh_json_parse(text, size, &found, NULL) < 0)
                return NULL;
        return found;
}

json_t *bh_choice_load(const struct bh_driver_host *host, enum bh_tier tier, const char *key)
{
        _cleanup_free_ char *doubt = path_of(host, tier, ".doubt");
        _cleanup_json_ json_t *found = read_found(host, tier);
        const char *seen = json_string_value(json_object_get(found, "key"));
        int64_t age_us =
                bh_monotonic_us() - (int64_t)json_integer_value(json_object_get(found, "found_us"));
        bool works = json_is_string(json_object_get(found, "name"));

        if (unlink(doubt) == 0 || !seen || strcmp(seen, key) != 0 || age_us < 0 ||
            age_us > (works ? WORKS_FOR_US : LACKS_FOR_US))
                return NULL;
        return bh_steal_ptr(&found);
}

int bh_choice_save_take(const struct bh_driver_host *host, enum bh_tier tier, const char *key,
                        json_t *found, struct bh_error *error)
{
        _cleanup_free_ char *path = path_of(host, tier, ".json"), *text = NULL;
        _cleanup_json_ json_t *owned = found;

        json_object_set_new(owned, "key", json_string(key));
        json_object_set_new(owned, "found_us", json_integer((json_int_t)bh_monotonic_us()));
        text = bh_json_text(owned);
        return bh_write_file_atomic(AT_FDCWD, path, text, strlen(text), 0600, error);
}

char *bh_choice_name(const struct bh_driver_host *host, enum bh_tier tier)
{
        _cleanup_json_ json_t *found = read_found(host, tier);
        const char *name = json_string_value(json_object_get(found, "name"));

        return name ? bh_strdup(name) : NULL;
}

void bh_choice_doubt(const struct bh_driver_host *host, enum bh_tier tier)
{
        _cleanup_free_ char *path = path_of(host, tier, ".doubt");
        _cleanup_close_ int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

        (void)fd;
}

int bh_choice_forget(const struct bh_driver_host *host, struct bh_error *error)
{
        static const enum bh_tier tiers[] = {BH_TIER_CONTAINER, BH_TIER_USERKERNEL};
        _cleanup_free_ char *directory = bh_format("%s/runtime", host->run_dir);
        _cleanup_close_ int made = bh_make_directory(directory, 0700, error);

        if (made < 0)
                return -1;
        for (size_t i = 0; i < sizeof(tiers) / sizeof(tiers[0]); i++) {
                _cleanup_free_ char *path = path_of(host, tiers[i], ".json");

                if (unlink(path) < 0 && errno != ENOENT)
                        return bh_error_errno(error, errno, "remove %s", path);
        }
        return 0;
}
