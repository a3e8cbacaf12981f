/* api/cli/sse: the standard's rules, and that pieces of any size make the same events. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/cli/sse.h"
#include "base/alloc.h"
#include "base/cleanup.h"

BH_DEFINE_CLEANUP(struct bh_sse *, bh_sse, bh_sse_free);

/* Writes "name|data|id;" for every event. */
static int record(void *context, const struct bh_sse_event *event, struct bh_error *error)
{
        FILE *out = context;

        (void)error;
        assert_int_equal(strlen(event->data), event->data_size);
        fprintf(out, "%s|%s|%s;", event->name, event->data, event->id);
        return 0;
}

/* The events of a stream fed in pieces of size step. Caller frees. */
static char *events_of(const char *stream, size_t size, size_t step)
{
        char *text = NULL;
        size_t text_size = 0;
        FILE *out = open_memstream(&text, &text_size);
        _cleanup_(bh_sse_cleanup) struct bh_sse *parser = bh_sse_new(record, out);

        for (size_t at = 0; at < size; at += step) {
                size_t piece = size - at < step ? size - at : step;
                /* Exactly so many bytes, so that reading past them is seen. */
                _cleanup_free_ char *bytes = bh_alloc(piece);

                memcpy(bytes, stream + at, piece);
                assert_int_equal(bh_sse_feed(parser, bytes, piece, NULL), 0);
        }
        fclose(out);
        return text;
}

static void test_streams(void **state)
{
        (void)state;
        static const struct {
                const char *stream, *events;
        } cases[] = {
                {"", ""},
                {"data: a\n\n", "message|a|;"},
                {"event: stdout\nid: 7\ndata: {}\n\n", "stdout|{}|7;"},
                {"data: a\ndata: b\n\n", "message|a\nb|;"},
                {"data:a\r\n\r\ndata:b\r\rdata:c\n\n", "message|a|;message|b|;message|c|;"},
                {"\xef\xbb\xbf"
                 "data: bom\n\n",
                 "message|bom|;"},
                {"data: \xef\xbb\xbfx\n\n", "message|\xef\xbb\xbfx|;"},
                {": a comment\n\n:\n\ndata: x\n\n", "message|x|;"},
                {"event: lost\n\ndata: x\n\n", "message|x|;"}, /* no data: no event */
                {"data\n\n", "message||;"},                    /* a field without a colon */
                {"data:\ndata:\n\n", "message|\n|;"},
                {"data:  two spaces\n\n", "message| two spaces|;"},
                {"id: 1\ndata: a\n\ndata: b\n\nid\ndata: c\n\n",
                 "message|a|1;message|b|1;message|c|;"},
                {"retry: 10\nfoo: bar\nDATA: no\ndata: x\n\n", "message|x|;"},
                {"data: unfinished\n", ""},
                {"data: unfinished", ""},
                {"event: a\nevent: b\ndata: x\n\n", "b|x|;"},
                {"event:\ndata: x\n\n", "message|x|;"},
        };

        for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
                for (size_t step = 1; step <= strlen(cases[i].stream) + 1; step++) {
                        _cleanup_free_ char *events =
                                events_of(cases[i].stream, strlen(cases[i].stream), step);
                        assert_string_equal(events, cases[i].events);
                }
}

static void test_an_id_with_nul_is_ignored(void **state)
{
        (void)state;
        static const char stream[] = "id: 1\ndata: a\n\nid: 2\0x\ndata: b\n\n";
        _cleanup_free_ char *events = events_of(stream, sizeof(stream) - 1, 5);

        assert_string_equal(events, "message|a|1;message|b|1;");
}

static void test_restart_keeps_the_id_and_forgets_the_rest(void **state)
{
        (void)state;
        char *text = NULL;
        size_t size = 0;
        FILE *out = open_memstream(&text, &size);
        _cleanup_(bh_sse_cleanup) struct bh_sse *parser = bh_sse_new(record, out);

        assert_string_equal(bh_sse_last_id(parser), "");
        assert_int_equal(
                bh_sse_feed(parser, "id: 9\ndata: a\n\nid: 10\nevent: half\ndata: ", 40, NULL), 0);
        bh_sse_restart(parser);
        assert_string_equal(bh_sse_last_id(parser), "9");
        assert_int_equal(bh_sse_feed(parser, "data: b\n\n", 9, NULL), 0);
        fclose(out);
        assert_string_equal(text, "message|a|9;message|b|9;");
        free(text);
}

static void test_caps(void **state)
{
        (void)state;
        struct bh_error error = {0};
        _cleanup_free_ char *bytes = bh_alloc(BH_SSE_LINE_MAX + 1);
        _cleanup_(bh_sse_cleanup) struct bh_sse *line = bh_sse_new(record, stdout);
        _cleanup_(bh_sse_cleanup) struct bh_sse *event = bh_sse_new(record, stdout);

        memset(bytes, 'x', BH_SSE_LINE_MAX + 1);
        assert_int_equal(bh_sse_feed(line, bytes, BH_SSE_LINE_MAX + 1, &error), -1);
        assert_int_equal(error.code, BH_ERROR_PROTOCOL);

        memcpy(bytes, "data:", 5);
        bytes[BH_SSE_LINE_MAX - 1] = '\n';
        int result = 0;
        for (int lines = 0; lines < 4 && result == 0; lines++)
                result = bh_sse_feed(event, bytes, BH_SSE_LINE_MAX, &error);
        assert_int_equal(result, -1);
        assert_int_equal(error.code, BH_ERROR_PROTOCOL);
}

static int refuse(void *context, const struct bh_sse_event *event, struct bh_error *error)
{
        (void)context;
        (void)event;
        return bh_error_set(error, BH_ERROR_SYSTEM, "no more");
}

static void test_the_handler_ends_the_feeding(void **state)
{
        (void)state;
        struct bh_error error = {0};
        _cleanup_(bh_sse_cleanup) struct bh_sse *parser = bh_sse_new(refuse, NULL);

        assert_int_equal(bh_sse_feed(parser, "data: a\n\n", 9, &error), -1);
        assert_string_equal(error.message, "no more");
}

int main(void)
{
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_streams),
                cmocka_unit_test(test_an_id_with_nul_is_ignored),
                cmocka_unit_test(test_restart_keeps_the_id_and_forgets_the_rest),
                cmocka_unit_test(test_caps),
                cmocka_unit_test(test_the_handler_ends_the_feeding),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
