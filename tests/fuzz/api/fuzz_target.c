/* Fuzzes api/target, the route table and api/query with one target. No segment that is accepted
 * could name another place; a route's captures are names or ids; parameters are valid JSON. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "api/query.h"
#include "api/routes.h"
#include "api/target.h"
#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/ulid.h"
#include "policy/name.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
        if (!holds)
                abort();
}

static void check_segments(const struct bh_target *target)
{
        for (size_t i = 0; i < target->segment_count; i++) {
                const char *segment = target->segments[i];

                require(segment[0] != '\0' && !strchr(segment, '/') && !strchr(segment, '\\'));
                require(strcmp(segment, ".") != 0 && strcmp(segment, "..") != 0);
                require(bh_text_printable(segment));
        }
}

static void check_route(const struct bh_target *target, json_t *params)
{
        const struct bh_route *route = NULL;
        char allow[BH_ALLOW_SIZE];
        const char *name;
        json_t *value;

        if (bh_route_find("GET", target, &route, params, allow) != BH_ROUTE_FOUND)
                return;
        json_object_foreach (params, name, value)
                require(bh_name_valid(json_string_value(value)) ||
                        bh_id_valid("ex_", json_string_value(value)));
        (void)bh_query_parse(target->query, route->parameters, params, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        _cleanup_free_ char *text = bh_strndup((const char *)data, size);
        _cleanup_free_ char *printed = NULL;
        _cleanup_json_ json_t *params = json_object(), *again = NULL;
        struct bh_target target;
        struct bh_error error;

        if (bh_target_parse(text, &target, &error) < 0)
                return 0;
        check_segments(&target);
        check_route(&target, params);
        json_object_clear(params);
        (void)bh_query_parse(target.query, -1, params, &error);
        printed = bh_json_text(params);
        require(bh_json_parse(printed, strlen(printed), &again, &error) == 0);
        bh_target_clear(&target);
        return 0;
}
