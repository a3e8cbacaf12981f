/* The linear pass over JSON text (RFC 8259); see json_scan.h. It keeps the stack of open
 * containers, so it can say where it is; jansson, which recurses and cannot say, only ever
 * gets text that passed. */
#include "base/json_scan.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/utf8.h"

enum expect {
        EXPECT_VALUE,
        EXPECT_VALUE_OR_END, /* after '[' */
        EXPECT_KEY,
        EXPECT_KEY_OR_END, /* after '{' */
        EXPECT_COLON,
        EXPECT_COMMA_OR_END,
        EXPECT_NOTHING, /* after the root value */
};

struct container {
        bool is_object;
        bool has_key;           /* a key was read: inside this member */
        size_t key, key_length; /* offset of its raw text between the quotes */
        size_t index;           /* of the element, in an array */
};

struct scanner {
        const char *text;
        size_t size, at;
        enum expect expect;
        struct container stack[BH_JSON_DEPTH_MAX];
        size_t depth;
        const char *problem; /* what is wrong, once something is */
};

void bh_json_pointer_start(struct bh_json_pointer *pointer, char *buffer, size_t size)
{
        *pointer = (struct bh_json_pointer){.buffer = buffer, .size = size};
        buffer[0] = '\0';
}

static void append(struct bh_json_pointer *pointer, const char *text, size_t length)
{
        if (length >= pointer->size - pointer->used) {
                pointer->size = pointer->used + 1; /* nothing may follow a gap */
                return;
        }
        memcpy(pointer->buffer + pointer->used, text, length);
        pointer->used += length;
        pointer->buffer[pointer->used] = '\0';
}

/* One character of a key, escaped by RFC 6901 section 3. */
static void append_character(struct bh_json_pointer *pointer, const char *text, size_t length)
{
        if (*text == '~')
                append(pointer, "~0", 2);
        else if (*text == '/')
                append(pointer, "~1", 2);
        else
                append(pointer, text, length);
}

void bh_json_pointer_key(struct bh_json_pointer *pointer, const char *key)
{
        size_t left = strlen(key);

        append(pointer, "/", 1);
        while (left > 0) {
                size_t length = bh_utf8_length(key, left);

                append_character(pointer, length ? key : "?", length ? length : 1);
                key += length ? length : 1;
                left -= length ? length : 1;
        }
}

void bh_json_pointer_index(struct bh_json_pointer *pointer, size_t index)
{
        char text[24];
        int length = snprintf(text, sizeof(text), "/%zu", index);

        append(pointer, text, (size_t)length);
}

static bool fail(struct scanner *scanner, const char *problem)
{
        scanner->problem = problem;
        return false;
}

/* Four hex digits at offset, or -1. */
static int32_t hex4(const struct scanner *scanner, size_t offset)
{
        int32_t value = 0;

        if (scanner->size - offset < 4)
                return -1;
        for (size_t i = offset; i < offset + 4; i++) {
                char c = scanner->text[i];
                int32_t digit = c >= '0' && c <= '9'   ? c - '0'
                                : c >= 'a' && c <= 'f' ? c - 'a' + 10
                                : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                                       : -1;

                if (digit < 0)
                        return -1;
                value = value << 4 | digit;
        }
        return value;
}

/* Reads the escape at the scanner (on the backslash) and moves past it. */
static bool scan_escape(struct scanner *scanner, uint32_t *ret)
{
        static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
        char name = scanner->at + 1 < scanner->size ? scanner->text[scanner->at + 1] : '\0';
        const char *found = name ? strchr(names, name) : NULL;
        int32_t high, low;

        if (found) {
                scanner->at += 2;
                *ret = (unsigned char)values[found - names];
                return true;
        }
        if (name != 'u')
                return fail(scanner, "invalid escape in a string");
        high = hex4(scanner, scanner->at + 2);
        if (high < 0)
                return fail(scanner, "invalid \\u escape in a string");
        if (high == 0)
                return fail(scanner, "NUL in a string");
        scanner->at += 6;
        *ret = (uint32_t)high;
        if (high < 0xd800 || high > 0xdfff)
                return true;
        if (high > 0xdbff || scanner->size - scanner->at < 6 ||
            scanner->text[scanner->at] != '\\' || scanner->text[scanner->at + 1] != 'u')
                return fail(scanner, "lone surrogate in a string");
        low = hex4(scanner, scanner->at + 2);
        if (low < 0xdc00 || low > 0xdfff)
                return fail(scanner, "lone surrogate in a string");
        scanner->at += 6;
        *ret = 0x10000 + (uint32_t)((high - 0xd800) << 10) + (uint32_t)(low - 0xdc00);
        return true;
}

/* Reads one character of a string, escaped or not, as UTF-8. */
static bool scan_character(struct scanner *scanner, char ret[4], size_t *ret_length)
{
        const char *text = scanner->text + scanner->at;
        size_t length;
        uint32_t code_point;

        if (*text == '\\') {
                if (!scan_escape(scanner, &code_point))
                        return false;
                *ret_length = bh_utf8_encode(code_point, ret);
                return true;
        }
        if (*text == '\0')
                return fail(scanner, "NUL in a string");
        if ((unsigned char)*text < 0x20)
                return fail(scanner, "control character in a string");
        length = bh_utf8_length(text, scanner->size - scanner->at);
        if (length == 0)
                return fail(scanner, "invalid UTF-8 in a string");
        memcpy(ret, text, length);
        *ret_length = length;
        scanner->at += length;
        return true;
}

/* Moves past the string that starts at the scanner. */
static bool scan_string(struct scanner *scanner)
{
        char character[4];
        size_t length;

        for (scanner->at++; scanner->at < scanner->size;) {
                char next = scanner->text[scanner->at];

                if (next == '"') {
                        scanner->at++;
                        return true;
                }
                /* Most text is plain ASCII and needs no second look. */
                if (next >= 0x20 && next < 0x7f && next != '\\') {
                        scanner->at++;
                        continue;
                }
                if (!scan_character(scanner, character, &length))
                        return false;
        }
        return fail(scanner, "unfinished string");
}

static size_t scan_digits(struct scanner *scanner)
{
        size_t start = scanner->at;

        while (scanner->at < scanner->size && scanner->text[scanner->at] >= '0' &&
               scanner->text[scanner->at] <= '9')
                scanner->at++;
        return scanner->at - start;
}

/* true, and past it, when the next byte is one of set. */
static bool take(struct scanner *scanner, const char *set)
{
        char next = scanner->at < scanner->size ? scanner->text[scanner->at] : '\0';

        if (next == '\0' || !strchr(set, next))
                return false;
        scanner->at++;
        return true;
}

static bool scan_number(struct scanner *scanner)
{
        take(scanner, "-");
        if (!take(scanner, "0") && scan_digits(scanner) == 0)
                return fail(scanner, "invalid number");
        if (take(scanner, ".") && scan_digits(scanner) == 0)
                return fail(scanner, "invalid number");
        if (take(scanner, "eE")) {
                take(scanner, "+-");
                if (scan_digits(scanner) == 0)
                        return fail(scanner, "invalid number");
        }
        /* "01", "1a" */
        if (scanner->at < scanner->size) {
                char next = scanner->text[scanner->at];

                if ((next >= '0' && next <= '9') || next == '.' || next == '_' || next == '-' ||
                    next == '+' || (next >= 'a' && next <= 'z') || (next >= 'A' && next <= 'Z'))
                        return fail(scanner, "invalid number");
        }
        return true;
}

static bool scan_literal(struct scanner *scanner)
{
        static const char *const literals[] = {"true", "false", "null"};
        size_t length = 0;

        while (scanner->at + length < scanner->size) {
                char next = scanner->text[scanner->at + length];

                if ((next < 'a' || next > 'z') && (next < 'A' || next > 'Z'))
                        break;
                length++;
        }
        for (size_t i = 0; i < 3; i++) {
                if (length == strlen(literals[i]) &&
                    memcmp(scanner->text + scanner->at, literals[i], length) == 0) {
                        scanner->at += length;
                        return true;
                }
        }
        return fail(scanner, length ? "unknown word" : "unexpected character");
}

static void value_done(struct scanner *scanner)
{
        scanner->expect = scanner->depth == 0 ? EXPECT_NOTHING : EXPECT_COMMA_OR_END;
}

static bool open_container(struct scanner *scanner, bool is_object)
{
        if (scanner->depth == BH_JSON_DEPTH_MAX)
                return fail(scanner, "nested too deep");
        scanner->stack[scanner->depth++] = (struct container){.is_object = is_object};
        scanner->expect = is_object ? EXPECT_KEY_OR_END : EXPECT_VALUE_OR_END;
        scanner->at++;
        return true;
}

static bool close_container(struct scanner *scanner)
{
        scanner->depth--;
        scanner->at++;
        value_done(scanner);
        return true;
}

static bool scan_value(struct scanner *scanner)
{
        char next = scanner->text[scanner->at];

        if (next == '{' || next == '[')
                return open_container(scanner, next == '{');
        if (next == '"'                                   ? !scan_string(scanner)
            : next == '-' || (next >= '0' && next <= '9') ? !scan_number(scanner)
                                                          : !scan_literal(scanner))
                return false;
        value_done(scanner);
        return true;
}

static bool scan_key(struct scanner *scanner)
{
        struct container *object = &scanner->stack[scanner->depth - 1];
        size_t start = scanner->at + 1;

        object->has_key = false;
        if (scanner->text[scanner->at] != '"')
                return fail(scanner, "a member name must be a string");
        if (!scan_string(scanner))
                return false;
        object->key = start;
        object->key_length = scanner->at - 1 - start;
        object->has_key = true;
        scanner->expect = EXPECT_COLON;
        return true;
}

static bool scan_comma_or_end(struct scanner *scanner)
{
        struct container *top = &scanner->stack[scanner->depth - 1];
        char next = scanner->text[scanner->at];

        if (next == (top->is_object ? '}' : ']'))
                return close_container(scanner);
        if (next != ',')
                return fail(scanner,
                            top->is_object ? "expected ',' or '}'" : "expected ',' or ']'");
        scanner->at++;
        if (!top->is_object)
                top->index++;
        scanner->expect = top->is_object ? EXPECT_KEY : EXPECT_VALUE;
        return true;
}

/* Moves past one token; white space is skipped and there is a byte left. */
static bool scan_token(struct scanner *scanner)
{
        char next = scanner->text[scanner->at];

        switch (scanner->expect) {
        case EXPECT_VALUE_OR_END:
                if (next == ']')
                        return close_container(scanner);
                return scan_value(scanner);
        case EXPECT_VALUE:
                return scan_value(scanner);
        case EXPECT_KEY_OR_END:
                if (next == '}')
                        return close_container(scanner);
                return scan_key(scanner);
        case EXPECT_KEY:
                return scan_key(scanner);
        case EXPECT_COLON:
                if (next != ':')
                        return fail(scanner, "expected ':'");
                scanner->at++;
                scanner->expect = EXPECT_VALUE;
                return true;
        case EXPECT_COMMA_OR_END:
                return scan_comma_or_end(scanner);
        case EXPECT_NOTHING:
                break;
        }
        return fail(scanner, "unexpected text after the value");
}

/* true when a token follows. */
static bool skip_space(struct scanner *scanner)
{
        while (take(scanner, " \t\n\r"))
                ;
        return scanner->at < scanner->size;
}

/* The place of the scanner: the innermost value or member it is at. */
static void render_pointer(const struct scanner *scanner, char *buffer, size_t size)
{
        struct bh_json_pointer pointer;
        char character[4];
        size_t length;

        bh_json_pointer_start(&pointer, buffer, size);
        for (size_t i = 0; i < scanner->depth; i++) {
                const struct container *container = &scanner->stack[i];
                /* The key was checked: reading it again cannot fail. */
                struct scanner key = {.text = scanner->text,
                                      .size = container->key + container->key_length,
                                      .at = container->key};

                if (!container->is_object) {
                        bh_json_pointer_index(&pointer, container->index);
                        continue;
                }
                if (!container->has_key)
                        return;
                append(&pointer, "/", 1);
                while (key.at < key.size && scan_character(&key, character, &length))
                        append_character(&pointer, character, length);
        }
}

int bh_json_scan(const char *text, size_t size, struct bh_error *error)
{
        struct scanner scanner = {.text = text, .size = size};
        char pointer[BH_ERROR_SUBJECT_SIZE];

        while (skip_space(&scanner)) {
                if (!scan_token(&scanner))
                        break;
        }
        if (!scanner.problem && scanner.expect == EXPECT_NOTHING)
                return 0;
        if (!scanner.problem)
                scanner.problem = scanner.depth == 0 ? "empty" : "unexpected end";
        render_pointer(&scanner, pointer, sizeof(pointer));
        return bh_error_invalid(error, pointer, "invalid JSON at byte %zu: %s", scanner.at,
                                scanner.problem);
}

void bh_json_scan_locate(const char *text, size_t size, size_t offset, char *buffer,
                         size_t buffer_size)
{
        struct scanner scanner = {.text = text, .size = size};

        while (scanner.at < offset && skip_space(&scanner)) {
                if (!scan_token(&scanner))
                        break;
        }
        render_pointer(&scanner, buffer, buffer_size);
}
