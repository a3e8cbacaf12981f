/* The body of an execution request from command line options. Called by run
 * and decide, which take the same ones. */
#ifndef BULKHEAD_API_CLI_REQUEST_H
#define BULKHEAD_API_CLI_REQUEST_H

#include <jansson.h>

#include "api/cli/options.h"
#include "base/error.h"

/* For option tables. */
#define BH_REQUEST_OPTIONS                                                               \
        {.name = "agent",                                                                \
         .letter = 'a',                                                                  \
         .kind = BH_OPTION_TEXT,                                                         \
         .value = "A",                                                                   \
         .help = "the agent that it runs for",                                           \
         .required = true},                                                              \
                {.name = "workspace",                                                    \
                 .letter = 'w',                                                          \
                 .kind = BH_OPTION_TEXT,                                                 \
                 .value = "W",                                                           \
                 .help = "named workspace; else an empty one that dies with it"},        \
                {.name = "image",                                                        \
                 .kind = BH_OPTION_TEXT,                                                 \
                 .value = "I",                                                           \
                 .help = "root file system (default: host)"},                            \
                {.name = "cwd",                                                          \
                 .kind = BH_OPTION_TEXT,                                                 \
                 .value = "DIR",                                                         \
                 .help = "working directory (default: /workspace)"},                     \
                {.name = "env",                                                          \
                 .letter = 'e',                                                          \
                 .kind = BH_OPTION_PAIRS,                                                \
                 .value = "K=V",                                                         \
                 .help = "environment variable; may be given again"},                    \
                {.name = "file",                                                         \
                 .letter = 'f',                                                          \
                 .kind = BH_OPTION_LIST,                                                 \
                 .value = "PATH[=DEST]",                                                 \
                 .help = "copy this file into the workspace first; may be given again"}, \
                {.name = "stdin",                                                        \
                 .letter = 'i',                                                          \
                 .kind = BH_OPTION_FLAG,                                                 \
                 .help = "read standard input to its end first and hand it on"},         \
                {.name = "min-tier",                                                     \
                 .kind = BH_OPTION_TEXT,                                                 \
                 .value = "T",                                                           \
                 .help = "at least subprocess, container, userkernel or vm"},            \
                {.name = "timeout",                                                      \
                 .letter = 't',                                                          \
                 .kind = BH_OPTION_DURATION,                                             \
                 .value = "S",                                                           \
                 .help = "real time in seconds"},                                        \
                {.name = "cpu",                                                          \
                 .kind = BH_OPTION_DURATION,                                             \
                 .value = "S",                                                           \
                 .help = "processor time in seconds, of all its processes"},             \
                {.name = "memory",                                                       \
                 .letter = 'm',                                                          \
                 .kind = BH_OPTION_SIZE,                                                 \
                 .value = "SIZE",                                                        \
                 .help = "memory with page cache, such as 256M"},                        \
                {.name = "pids",                                                         \
                 .kind = BH_OPTION_COUNT,                                                \
                 .value = "N",                                                           \
                 .help = "processes and threads at a time"},                             \
                {.name = "disk",                                                         \
                 .kind = BH_OPTION_SIZE,                                                 \
                 .value = "SIZE",                                                        \
                 .help = "what it may write outside a named workspace"},                 \
                {.name = "output",                                                       \
                 .kind = BH_OPTION_SIZE,                                                 \
                 .value = "SIZE",                                                        \
                 .help = "kept of each of stdout and stderr"},                           \
        {                                                                                \
                .name = "label", .letter = 'l', .kind = BH_OPTION_PAIRS, .value = "K=V", \
                .help = "label; may be given again"                                      \
        }

/* Reads the files and, with --stdin, stdin_fd to its end. */
int bh_request_from_options(const struct bh_options *options, int stdin_fd, json_t **ret,
                            struct bh_error *error);

#endif
