/* The seccomp list (drivers/kernel/seccomp_list.h) in the form of the runtime-spec,
 * config-linux.md, "Seccomp". See spec.h. */
#include <errno.h>
#include <string.h>

#include "drivers/container/spec.h"
#include "drivers/kernel/seccomp_list.h"

#define ALLOW "SCMP_ACT_ALLOW"

static json_t *comparisons(const struct bh_seccomp_alternative *alternative)
{
        json_t *array = json_array();

        for (unsigned i = 0; i < alternative->count; i++)
                json_array_append_new(
                        array,
                        json_pack("{si sI sI ss}", "index", (int)alternative->compare[i].argument,
                                  "value", (json_int_t)alternative->compare[i].mask, "valueTwo",
                                  (json_int_t)alternative->compare[i].value, "op",
                                  "SCMP_CMP_MASKED_EQ"));
        return array;
}

/* Returns how many rules there are for a call. */
static size_t add_conditional(json_t *rules, const char *name)
{
        size_t before = json_array_size(rules);

        for (const struct bh_seccomp_alternative *a = bh_seccomp_alternatives; a->name; a++) {
                if (strcmp(a->name, name) == 0)
                        json_array_append_new(rules,
                                              json_pack("{s[s] ss so}", "names", name, "action",
                                                        ALLOW, "args", comparisons(a)));
        }
        return json_array_size(rules) - before;
}

json_t *bh_spec_seccomp(void)
{
        json_t *names = json_array(), *rules = json_array();

        for (const struct bh_seccomp_entry *entry = bh_seccomp_list; entry->name; entry++) {
                if (add_conditional(rules, entry->name) == 0)
                        json_array_append_new(names, json_string(entry->name));
        }
        json_array_insert_new(rules, 0, json_pack("{so ss}", "names", names, "action", ALLOW));
        json_array_append_new(rules, json_pack("{s[s] ss si}", "names", "clone3", "action",
                                               "SCMP_ACT_ERRNO", "errnoRet", ENOSYS));
        return json_pack("{ss si so}", "defaultAction", "SCMP_ACT_ERRNO", "defaultErrnoRet", EPERM,
                         "syscalls", rules);
}
