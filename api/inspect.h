/* Looks at every byte that a client sends before libmicrohttpd does, and lets through only
 * requests that are framed beyond doubt (RFC 9112): one of the causes of request smuggling is a
 * parser that repairs, and libmicrohttpd's does (bare LF, folded lines, white space before a
 * colon, the first of two Content-Lengths). It also holds the limits on targets and
 * headers, so that they are answered as problems and not by the library's own pages.
 * Pure; called by client.c for each piece that is received. */
#ifndef BULKHEAD_API_INSPECT_H
#define BULKHEAD_API_INSPECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BH_TARGET_MAX          ((size_t)8 << 10)  /* bytes of a request target */
#define BH_HEADERS_MAX         ((size_t)16 << 10) /* bytes of all header lines */
#define BH_HEADER_COUNT_MAX    100
#define BH_PARAMETER_COUNT_MAX 64

/* What is wrong with a request, as a problem that a client can be told. status 0: nothing. */
struct bh_violation {
        int status;
        const char *code;   /* stable, snake_case */
        const char *detail; /* for people */
};

enum bh_phase {
        BH_PHASE_IDLE, /* between two requests */
        BH_PHASE_HEAD, /* a request line has begun */
        BH_PHASE_BODY, /* a head is whole, its body is not */
};

struct bh_inspector {
        enum bh_phase phase;
        uint64_t started;   /* requests whose first byte was seen */
        uint64_t heads;     /* requests whose head was seen whole */
        uint64_t body_seen; /* bytes of the present body, framing counted */

        int state; /* of the automaton; see inspect.c */
        int version_minor;
        size_t line; /* bytes of the present element */
        size_t header_bytes, header_count, parameters, blank_lines;
        char word[40]; /* method, version, header name or short value, lower case */
        size_t word_length;
        int header; /* which known header this is */
        bool has_length, has_chunked, has_host, body_allowed;
        uint64_t length;               /* of the body, or left of it or of this chunk */
        struct bh_violation violation; /* for ever, once status is set */
};

/* Looks at size bytes. Returns how many of them belong to requests without a fault: size when
 * there is none; else the offset in data where the faulty request begins (0 when it began
 * earlier), and inspector->violation is set. */
size_t bh_inspect(struct bh_inspector *inspector, const char *data, size_t size);

#endif
