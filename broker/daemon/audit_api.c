/* The operation that reads the audit log. */
#include <stdlib.h>

#include "broker/daemon/cursor.h"
#include "broker/daemon/daemon.h"
#include "broker/daemon/dispatch.h"

int bh_handle_audit_list(struct bh_call *call, struct bh_error *error)
{
        static const char *const members[] = {"limit", "cursor", NULL};
        struct bh_json_at params = BH_JSON_ROOT(call->params);
        struct bh_page page = {0};
        _cleanup_json_ json_t *entries = NULL;
        if (bh_json_object(&params, members, error) < 0 ||
            bh_page_begin(&page, &params, 1, error) < 0)
                return -1;
        int64_t after = page.after[0] ? strtoll(page.after[0], NULL, 10) : 0;
        int r = bh_audit_read(call->daemon->audit, after, page.limit + 1, &entries, error);
        if (r < 0)
                error->code = BH_ERROR_SYSTEM; /* a damaged log is no fault of the caller's */
        for (size_t i = 0; r == 0 && i < json_array_size(entries); i++) {
                json_t *entry = json_array_get(entries, i);
                char sequence[24];
                const char *key[] = {sequence};
                snprintf(sequence, sizeof(sequence), "%lld",
                         (long long)json_integer_value(json_object_get(entry, "sequence")));
                bh_page_add_take(&page, json_incref(entry), key);
        }
        if (r == 0)
                bh_call_reply_take(call, 200, bh_page_finish(&page));
        bh_page_clear(&page);
        return r;
}
