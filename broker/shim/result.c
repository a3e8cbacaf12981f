/* Encoding and storing a result; see result.h. */
#include "broker/shim/result.h"

#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "broker/shim_protocol.h"

static json_int_t ms_from_us(int64_t us)
{
        return (us + 500) / 1000;
}

static void note_loss(struct bh_verdict *verdict, const char *stream,
                      const struct bh_capture *capture)
{
        if (capture->write_errno)
                bh_verdict_note(verdict, "%s was lost after %lld bytes: %s", stream,
                                (long long)capture->kept, strerrordesc_np(capture->write_errno));
}

void bh_result_note_losses(struct bh_result *result)
{
        note_loss(&result->verdict, "stdout", result->out);
        note_loss(&result->verdict, "stderr", result->err);
}

static json_t *encode_stream(const struct bh_capture *capture)
{
        return json_pack("{s:I, s:I}", "bytes", (json_int_t)capture->bytes, "dropped_bytes",
                         (json_int_t)(capture->bytes - capture->kept));
}

static json_t *encode_exit_code(const struct bh_verdict *verdict)
{
        return verdict->outcome == BH_OUTCOME_EXITED ? json_integer(verdict->exit_code)
                                                     : json_null();
}

static json_t *encode_signal(const struct bh_verdict *verdict)
{
        char name[BH_SIGNAL_NAME_SIZE];

        if (verdict->outcome != BH_OUTCOME_SIGNALED)
                return json_null();
        bh_signal_name(verdict->signal, name);
        return json_string(name);
}

static json_t *encode(const struct bh_result *result, json_t *evidence, const char *detail)
{
        json_t *usage = json_pack("{s:I, s:I, s:I, s:I}", "wall_ms", ms_from_us(result->run_us),
                                  "cpu_ms", ms_from_us(result->usage.cpu_us), "memory_peak_bytes",
                                  (json_int_t)result->usage.memory_peak_bytes, "oom_kills",
                                  (json_int_t)result->usage.oom_kills);
        json_t *timing = json_pack(
                "{s:I, s:I, s:I}", "provision_ms", ms_from_us(result->provision_us), "run_ms",
                ms_from_us(result->run_us), "teardown_ms", ms_from_us(result->teardown_us));
        json_t *started = result->started_ms ? json_integer(result->started_ms) : json_null();
        json_t *encoded = json_pack(
                "{s:s, s:s, s:o, s:o, s:s, s:o, s:o, s:o, s:I, s:o, s:o, s:O?}", "type", "result",
                "outcome", bh_outcome_name(result->verdict.outcome), "exit_code",
                encode_exit_code(&result->verdict), "signal", encode_signal(&result->verdict),
                "detail", detail, "usage", usage, "timing", timing, "started_ms", started,
                "ended_ms", (json_int_t)result->ended_ms, "stdout", encode_stream(result->out),
                "stderr", encode_stream(result->err), "evidence", evidence);

        if (!encoded)
                bh_alloc_failed();
        return encoded;
}

json_t *bh_result_encode(const struct bh_result *result)
{
        json_t *encoded = encode(result, result->evidence, result->verdict.detail);
        struct bh_verdict verdict;

        if (json_dumpb(encoded, NULL, 0, JSON_COMPACT) <= BH_SHIM_RESULT_MAX)
                return encoded;
        json_decref(encoded);
        verdict = result->verdict;
        bh_verdict_note(&verdict, "the evidence is too large to be reported");
        return encode(result, NULL, verdict.detail);
}

int bh_result_store(int directory, const json_t *result, struct bh_error *error)
{
        _cleanup_free_ char *text = bh_json_text(result);

        if (bh_write_file_atomic(directory, BH_SHIM_RESULT_FILE, text, strlen(text), 0600, error) <
            0)
                return bh_error_prefix(error, "store the result");
        return 0;
}
