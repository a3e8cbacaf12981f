/* The automaton behind inspect.h: one state for each place in a request, one byte at a time
 * through heads and chunk lines, whole runs through bodies. */
#include "api/inspect.h"

#include <string.h>

#define METHOD_MAX     32
#define CHUNK_LINE_MAX 128 /* size and extension */
#define CHUNK_DIGITS   8
#define LENGTH_DIGITS  18
#define BLANK_LINES    2 /* tolerated before a request line, RFC 9112 section 2.2 */

enum state {
        AT_START,
        START_LF,
        METHOD,
        TARGET,
        VERSION,
        REQUEST_LF,
        HEADER_START,
        NAME,
        VALUE_START,
        VALUE,
        HEADER_LF,
        END_LF,
        LENGTH_BODY,
        CHUNK_SIZE,
        CHUNK_EXTENSION,
        CHUNK_LF,
        CHUNK_DATA,
        CHUNK_DATA_CR,
        CHUNK_DATA_LF,
        LAST_CR,
        LAST_LF,
};

enum header { OTHER, CONTENT_LENGTH, TRANSFER_ENCODING, HOST, EXPECT };

static const char *const known_headers[] = {
        [CONTENT_LENGTH] = "content-length",
        [TRANSFER_ENCODING] = "transfer-encoding",
        [HOST] = "host",
        [EXPECT] = "expect",
};

/* Sets the violation. Returns -1. */
static int refuse(struct bh_inspector *in, int status, const char *code, const char *detail)
{
        in->violation = (struct bh_violation){status, code, detail};
        return -1;
}

static int malformed(struct bh_inspector *in, const char *detail)
{
        return refuse(in, 400, "malformed_request", detail);
}

/* RFC 9110 section 5.6.2. */
static bool is_token_byte(unsigned char byte)
{
        if ((byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'z') ||
            (byte >= 'A' && byte <= 'Z'))
                return true;
        return byte != 0 && strchr("!#$%&'*+-.^_`|~", byte) != NULL;
}

static char lower(unsigned char byte)
{
        return (char)(byte >= 'A' && byte <= 'Z' ? byte + ('a' - 'A') : byte);
}

/* Keeps the first bytes of an element; word_length goes on counting. */
static void word_add(struct bh_inspector *in, char byte)
{
        if (in->word_length < sizeof(in->word))
                in->word[in->word_length] = byte;
        in->word_length++;
}

static bool word_is(const struct bh_inspector *in, const char *text)
{
        return in->word_length == strlen(text) && memcmp(in->word, text, in->word_length) == 0;
}

static void begin_request(struct bh_inspector *in)
{
        in->phase = BH_PHASE_HEAD;
        in->started++;
        in->line = in->word_length = 0;
        in->header_bytes = in->header_count = in->parameters = 0;
        in->has_length = in->has_chunked = in->has_host = false;
        in->length = in->body_seen = 0;
        in->state = METHOD;
}

static void end_request(struct bh_inspector *in)
{
        in->phase = BH_PHASE_IDLE;
        in->blank_lines = 0;
        in->state = AT_START;
}

/* ---- The request line ---- */

static int at_method(struct bh_inspector *in, unsigned char byte)
{
        if (byte == ' ' && in->word_length > 0) {
                in->body_allowed =
                        word_is(in, "POST") || word_is(in, "PUT") || word_is(in, "PATCH");
                in->line = 0;
                in->state = TARGET;
                return 0;
        }
        if (!is_token_byte(byte) || in->word_length >= METHOD_MAX)
                return malformed(in, "the request line does not begin with a method");
        word_add(in, (char)byte);
        return 0;
}

static int at_target(struct bh_inspector *in, unsigned char byte)
{
        if (byte == ' ' && in->line > 0) {
                in->word_length = 0;
                in->state = VERSION;
                return 0;
        }
        if (byte <= ' ' || byte > '~')
                return malformed(in,
                                 "the request target holds a byte that must be percent-encoded");
        if (++in->line > BH_TARGET_MAX)
                return refuse(in, 414, "target_too_long",
                              "the request target is longer than 8 KiB");
        if (byte == '&' && ++in->parameters >= BH_PARAMETER_COUNT_MAX)
                return malformed(in, "the request target has too many query parameters");
        return 0;
}

static int at_version(struct bh_inspector *in, unsigned char byte)
{
        if (byte != '\r') {
                if (in->word_length > 8)
                        return malformed(in, "the request line does not end with a version");
                word_add(in, (char)byte);
                return 0;
        }
        if (word_is(in, "HTTP/1.1") || word_is(in, "HTTP/1.0")) {
                in->version_minor = in->word[7] - '0';
                in->state = REQUEST_LF;
                return 0;
        }
        if (in->word_length >= 6 && memcmp(in->word, "HTTP/", 5) == 0 && in->word[5] >= '0' &&
            in->word[5] <= '9')
                return refuse(in, 505, "version_not_supported", "only HTTP/1.1 is spoken here");
        return malformed(in, "the request line does not end with a version");
}

/* ---- Header lines ---- */

static int body_framing(struct bh_inspector *in)
{
        if (in->version_minor >= 1 && !in->has_host)
                return malformed(in, "the Host header is missing");
        if (in->has_length && in->has_chunked)
                return malformed(in, "both Content-Length and Transfer-Encoding are given");
        if (in->has_chunked && in->version_minor == 0)
                return malformed(in, "Transfer-Encoding is not part of HTTP/1.0");
        if (!in->body_allowed && (in->has_chunked || in->length > 0))
                return malformed(in, "this method takes no body");
        in->heads++;
        in->phase = BH_PHASE_BODY;
        if (in->has_chunked) {
                in->line = 0;
                in->word_length = 0;
                in->state = CHUNK_SIZE;
        } else if (in->length > 0) {
                in->state = LENGTH_BODY;
        } else {
                end_request(in);
        }
        return 0;
}

static int at_header_start(struct bh_inspector *in, unsigned char byte)
{
        if (byte == '\r') {
                in->state = END_LF;
                return 0;
        }
        if (!is_token_byte(byte))
                return malformed(in, "a header line does not begin with a name");
        if (++in->header_count > BH_HEADER_COUNT_MAX)
                return refuse(in, 431, "headers_too_large", "there are more than 100 header lines");
        in->word_length = 0;
        word_add(in, lower(byte));
        in->state = NAME;
        return 0;
}

static int at_name(struct bh_inspector *in, unsigned char byte)
{
        if (byte != ':') {
                if (!is_token_byte(byte))
                        return malformed(in, "a header's name is malformed");
                word_add(in, lower(byte));
                return 0;
        }
        in->header = OTHER;
        for (int i = CONTENT_LENGTH; i <= EXPECT; i++)
                if (word_is(in, known_headers[i]))
                        in->header = i;
        in->word_length = 0;
        in->state = VALUE_START;
        return 0;
}

static int content_length(struct bh_inspector *in)
{
        if (in->has_length)
                return malformed(in, "Content-Length is given twice");
        if (in->word_length == 0 || in->word_length > LENGTH_DIGITS)
                return in->word_length == 0 ? malformed(in, "Content-Length is empty")
                                            : refuse(in, 413, "body_too_large",
                                                     "Content-Length is out of range");
        in->has_length = true;
        in->length = 0;
        for (size_t i = 0; i < in->word_length; i++)
                in->length = in->length * 10 + (uint64_t)(in->word[i] - '0');
        return 0;
}

/* A header's value is whole. */
static int known_value(struct bh_inspector *in)
{
        switch (in->header) {
        case CONTENT_LENGTH:
                return content_length(in);
        case TRANSFER_ENCODING:
                if (in->has_chunked)
                        return malformed(in, "Transfer-Encoding is given twice");
                if (!word_is(in, "chunked"))
                        return malformed(in, "the only Transfer-Encoding known here is chunked");
                in->has_chunked = true;
                return 0;
        case HOST:
                if (in->has_host)
                        return malformed(in, "the Host header is given twice");
                in->has_host = true;
                return 0;
        case EXPECT:
                if (!word_is(in, "100-continue"))
                        return refuse(in, 417, "expectation_failed",
                                      "the only expectation known here is 100-continue");
                return 0;
        default:
                return 0;
        }
}

static int at_value(struct bh_inspector *in, unsigned char byte)
{
        if (byte == '\r') {
                in->state = HEADER_LF;
                return known_value(in);
        }
        if (in->state == VALUE_START) {
                if (byte == ' ' || byte == '\t')
                        return 0;
                in->state = VALUE;
        }
        if ((byte < ' ' && byte != '\t') || byte == 0x7f)
                return malformed(in, "a header's value holds a control character");
        if (in->header == CONTENT_LENGTH && (byte < '0' || byte > '9'))
                return malformed(in, "Content-Length is not a number");
        word_add(in, lower(byte));
        return 0;
}

static int at_header(struct bh_inspector *in, unsigned char byte)
{
        if (++in->header_bytes > BH_HEADERS_MAX)
                return refuse(in, 431, "headers_too_large", "the headers are larger than 16 KiB");
        switch (in->state) {
        case HEADER_START:
                return at_header_start(in, byte);
        case NAME:
                return at_name(in, byte);
        case HEADER_LF:
                if (byte != '\n')
                        return malformed(in, "a header line does not end with CR LF");
                in->state = HEADER_START;
                return 0;
        case END_LF:
                if (byte != '\n')
                        return malformed(in, "the headers do not end with CR LF");
                return body_framing(in);
        default:
                return at_value(in, byte);
        }
}

/* ---- Chunked bodies (RFC 9112 section 7.1) ---- */

static int hex_value(unsigned char byte)
{
        if (byte >= '0' && byte <= '9')
                return byte - '0';
        if (lower(byte) >= 'a' && lower(byte) <= 'f')
                return lower(byte) - 'a' + 10;
        return -1;
}

static int at_chunk_size(struct bh_inspector *in, unsigned char byte)
{
        int digit = hex_value(byte);

        if (digit >= 0) {
                if (in->word_length == 0)
                        in->length = 0;
                if (++in->word_length > CHUNK_DIGITS)
                        return refuse(in, 413, "body_too_large", "a chunk is too large");
                in->length = in->length * 16 + (uint64_t)digit;
                return 0;
        }
        if (in->word_length == 0 || (byte != '\r' && byte != ';'))
                return malformed(in, "a chunk's size is malformed");
        in->state = byte == '\r' ? CHUNK_LF : CHUNK_EXTENSION;
        return 0;
}

static int at_chunk(struct bh_inspector *in, unsigned char byte)
{
        switch (in->state) {
        case CHUNK_SIZE:
                return at_chunk_size(in, byte);
        case CHUNK_EXTENSION:
                if (byte == '\r') {
                        in->state = CHUNK_LF;
                        return 0;
                }
                if (byte < ' ' || byte > '~' || ++in->line > CHUNK_LINE_MAX)
                        return malformed(in, "a chunk's extension is malformed");
                return 0;
        case CHUNK_LF:
                in->state = in->length > 0 ? CHUNK_DATA : LAST_CR;
                return byte == '\n' ? 0 : malformed(in, "a chunk's size does not end with CR LF");
        case CHUNK_DATA_CR:
                in->state = CHUNK_DATA_LF;
                return byte == '\r' ? 0 : malformed(in, "a chunk does not end with CR LF");
        case CHUNK_DATA_LF:
                in->line = in->word_length = 0;
                in->state = CHUNK_SIZE;
                return byte == '\n' ? 0 : malformed(in, "a chunk does not end with CR LF");
        case LAST_CR:
                in->state = LAST_LF;
                return byte == '\r' ? 0 : malformed(in, "trailer fields are not accepted");
        default:
                if (byte != '\n')
                        return malformed(in, "the last chunk does not end with CR LF");
                end_request(in);
                return 0;
        }
}

/* ---- All together ---- */

static int at_start(struct bh_inspector *in, unsigned char byte)
{
        if (in->state == START_LF) {
                in->state = AT_START;
                return byte == '\n' ? 0 : malformed(in, "a bare CR precedes the request");
        }
        if (byte == '\r' && in->blank_lines < BLANK_LINES) {
                in->blank_lines++;
                in->state = START_LF;
                return 0;
        }
        begin_request(in);
        return at_method(in, byte);
}

static int inspect_byte(struct bh_inspector *in, unsigned char byte)
{
        switch (in->state) {
        case AT_START:
        case START_LF:
                return at_start(in, byte);
        case METHOD:
                return at_method(in, byte);
        case TARGET:
                return at_target(in, byte);
        case VERSION:
                return at_version(in, byte);
        case REQUEST_LF:
                in->state = HEADER_START;
                return byte == '\n' ? 0 : malformed(in, "the request line does not end with CR LF");
        case HEADER_START:
        case NAME:
        case VALUE_START:
        case VALUE:
        case HEADER_LF:
        case END_LF:
                return at_header(in, byte);
        default:
                in->body_seen++;
                return at_chunk(in, byte);
        }
}

/* Takes a run of body bytes at once. Returns how many. */
static size_t skip_body(struct bh_inspector *in, size_t size)
{
        size_t run = in->length < size ? (size_t)in->length : size;

        in->length -= run;
        in->body_seen += run;
        if (in->length == 0) {
                if (in->state == LENGTH_BODY)
                        end_request(in);
                else
                        in->state = CHUNK_DATA_CR;
        }
        return run;
}

size_t bh_inspect(struct bh_inspector *in, const char *data, size_t size)
{
        size_t good = 0; /* offset behind the last whole request in data */

        if (in->violation.status)
                return 0;
        for (size_t i = 0; i < size;) {
                if (in->state == LENGTH_BODY || in->state == CHUNK_DATA)
                        i += skip_body(in, size - i);
                else if (inspect_byte(in, (unsigned char)data[i++]) < 0)
                        return good;
                if (in->phase == BH_PHASE_IDLE)
                        good = i;
        }
        return size;
}
