/* Lists of strings: copying, decoding, canonical order. See strings.h for who calls it. */
#include "policy/strings.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"

char **bh_strings_copy(char *const *items, size_t count)
{
        char **copy = bh_alloc_array(count + 1, sizeof(*copy));

        for (size_t i = 0; i < count; i++)
                copy[i] = bh_strdup(items[i]);
        return copy;
}

void bh_strings_free(char **items, size_t count)
{
        if (!items)
                return;
        for (size_t i = 0; i < count; i++)
                free(items[i]);
        free(items);
}

bool bh_strings_contain(char *const *items, size_t count, const char *text)
{
        for (size_t i = 0; i < count; i++)
                if (strcmp(items[i], text) == 0)
                        return true;
        return false;
}

json_t *bh_strings_encode(char *const *items, size_t count)
{
        json_t *array = json_array();

        for (size_t i = 0; i < count; i++)
                json_array_append_new(array, json_string(items[i]));
        return array;
}

static int compare_texts(const void *a, const void *b)
{
        return strcmp(*(char *const *)a, *(char *const *)b);
}

json_t *bh_strings_encode_sorted(char *const *items, size_t count)
{
        _cleanup_free_ char **sorted = bh_alloc_array(count + 1, sizeof(*sorted));

        for (size_t i = 0; i < count; i++)
                sorted[i] = items[i];
        qsort(sorted, count, sizeof(*sorted), compare_texts);
        return bh_strings_encode(sorted, count);
}

static int decode_element(const struct bh_json_at *at, size_t length, bh_string_check check,
                          char *const *before, size_t before_count, char **ret,
                          struct bh_error *error)
{
        _cleanup_free_ char *normalised = NULL;
        const char *text;

        if (bh_json_string(at, 1, length, &text, error) < 0)
                return -1;
        if (check && check(at, text, &normalised, error) < 0)
                return -1;
        if (!normalised)
                normalised = bh_strdup(text);
        if (bh_strings_contain(before, before_count, normalised))
                return bh_json_fail(at, error, "%s is listed twice", normalised);
        *ret = bh_steal_ptr(&normalised);
        return 0;
}

int bh_strings_decode(const struct bh_json_at *at, size_t min, size_t max, size_t length,
                      bh_string_check check, char ***ret, size_t *ret_count, struct bh_error *error)
{
        size_t count;

        if (bh_json_array(at, min, max, &count, error) < 0)
                return -1;
        char **items = bh_alloc_array(count + 1, sizeof(*items));
        for (size_t i = 0; i < count; i++) {
                struct bh_json_at element = bh_json_element(at, i);

                if (decode_element(&element, length, check, items, i, &items[i], error) < 0) {
                        bh_strings_free(items, i);
                        return -1;
                }
        }
        *ret = items;
        *ret_count = count;
        return 0;
}

struct sort_item {
        char *text;
        json_t *value;
};

static int compare_items(const void *a, const void *b)
{
        return strcmp(((const struct sort_item *)a)->text, ((const struct sort_item *)b)->text);
}

json_t *bh_json_sorted_take(json_t *array)
{
        size_t count = json_array_size(array);
        _cleanup_free_ struct sort_item *items = bh_alloc_array(count + 1, sizeof(*items));
        json_t *sorted = json_array();

        for (size_t i = 0; i < count; i++) {
                items[i].value = json_array_get(array, i);
                items[i].text = bh_json_canonical(items[i].value);
        }
        qsort(items, count, sizeof(*items), compare_items);
        for (size_t i = 0; i < count; i++) {
                json_array_append(sorted, items[i].value);
                free(items[i].text);
        }
        json_decref(array);
        return sorted;
}
