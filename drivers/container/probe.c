/* What this host offers for the tiers container and userkernel: each runtime is judged by its
 * version, then tried by building and running a boundary; the first that works is chosen. */
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "drivers/container/boundary.h"
#include "drivers/container/choice.h"
#include "drivers/kernel/seccomp.h"
#include "drivers/kernel/trial.h"

static char *describe(const struct bh_runtime *runtime, const char *version)
{
        struct utsname system;

        if (runtime->platform)
                return bh_format("gVisor (runsc %s, platform %s), a kernel in user space; the "
                                 "host's is reached by its sentry through seccomp",
                                 version, runtime->platform);
        uname(&system);
        return bh_format("%s %s on Linux %s, user namespace, seccomp (%zu calls)", runtime->program,
                         version, system.release, bh_seccomp_rule_count());
}

/* What could be installed from Debian, where installing helps. */
static const char *fix_for(const struct bh_runtime *runtime, bool installed)
{
        if (installed)
                return strcmp(runtime->program, "runsc") == 0
                               ? "install a newer runsc "
                                 "(https://gvisor.dev/docs/user_guide/install)"
                               : "apt-get install runc";
        if (strcmp(runtime->program, "crun") == 0)
                return "apt-get install crun";
        return strcmp(runtime->program, "runc") == 0 ? "apt-get install runc"
                                                     : "apt-get install runsc";
}

static void add_missing(json_t *missing, const struct bh_runtime *runtime, bool installed,
                        const char *what)
{
        /* A program that is not there is missed once, whatever its ways to run. */
        for (size_t i = 0; i < json_array_size(missing); i++) {
                json_t *one = json_object_get(json_array_get(missing, i), "what");

                if (strcmp(json_string_value(one), what) == 0)
                        return;
        }
        json_array_append_new(
                missing, json_pack("{ss ss}", "what", what, "fix", fix_for(runtime, installed)));
}

/* Fills found when the runtime works; else says in missing why not. */
static bool try_runtime(const struct bh_driver_host *host, const struct bh_runtime *runtime,
                        json_t *found, json_t *missing)
{
        _cleanup_free_ char *path = bh_runtime_find(runtime->program, NULL);
        _cleanup_free_ char *text = NULL, *version = NULL, *what = NULL;
        struct bh_error error = {.code = BH_ERROR_NONE};

        if (!path) {
                what = bh_format("%s is not installed", runtime->program);
                add_missing(missing, runtime, false, what);
                return false;
        }
        if (bh_runtime_ask_version(path, &text, &error) < 0 ||
            bh_runtime_judge(runtime->program, text, &error) < 0 ||
            bh_trial_run(&bh_container_driver, host, runtime->tier, runtime->name, NULL, &error) <
                    0) {
                what = bh_format("%s: %s%s%s", runtime->name,
                                 error.code == BH_ERROR_CONTROL ? error.subject : "",
                                 error.code == BH_ERROR_CONTROL ? ": " : "", error.message);
                add_missing(missing, runtime, true, what);
                return false;
        }
        version = bh_runtime_version(text);
        json_object_set_new(found, "name", json_string(runtime->name));
        json_object_set_new(found, "version", json_string(version));
        json_array_clear(missing); /* what others lack matters no more */
        if (bh_runtime_flaw(runtime->program, version)) {
                what = bh_format("%s %s: %s", runtime->program, version,
                                 bh_runtime_flaw(runtime->program, version));
                add_missing(missing, runtime, true, what);
                free(what);
        }
        what = describe(runtime, version);
        json_object_set_new(found, "technology", json_string(what));
        return true;
}

static json_t *look(const struct bh_driver_host *host, enum bh_tier tier)
{
        json_t *found = json_object(), *missing = json_array();
        bool works = false;

        for (const struct bh_runtime *runtime = bh_runtimes; runtime->name && !works; runtime++) {
                if (runtime->tier != tier)
                        continue;
                works = try_runtime(host, runtime, found, missing);
        }
        json_object_set_new(found, "missing", missing);
        return found;
}

static void fill(struct bh_tier_host *tier, const json_t *found)
{
        const char *version = json_string_value(json_object_get(found, "version"));
        const json_t *missing = json_object_get(found, "missing");

        tier->available = version != NULL;
        if (version) {
                tier->version = bh_strdup(version);
                tier->technology =
                        bh_strdup(json_string_value(json_object_get(found, "technology")));
                tier->features = 1U << BH_FEATURE_NAMED_WORKSPACE;
        }
        for (size_t i = 0; i < json_array_size(missing); i++) {
                const json_t *one = json_array_get(missing, i);

                bh_tier_host_add_missing(tier, json_string_value(json_object_get(one, "what")),
                                         json_string_value(json_object_get(one, "fix")));
        }
}

int bh_container_probe(const struct bh_driver_host *host, enum bh_tier tier,
                       struct bh_tier_host *ret, struct bh_error *error)
{
        struct bh_tier_host result = {.driver = bh_strdup("container")};
        _cleanup_free_ char *key = bh_choice_key(tier);
        _cleanup_json_ json_t *found = bh_choice_load(host, tier, key);

        if (!found) {
                struct bh_error failure;

                found = look(host, tier);
                if (bh_choice_save_take(host, tier, key, json_incref(found), &failure) < 0) {
                        json_decref(found);
                        found = json_pack("{s[{ss ss}]}", "missing", "what", failure.message, "fix",
                                          "");
                }
        }
        (void)error;
        fill(&result, found);
        *ret = result;
        return 0;
}
