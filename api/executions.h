/* How replies about executions become answers. Rows of routes.c. */
#ifndef BULKHEAD_API_EXECUTIONS_H
#define BULKHEAD_API_EXECUTIONS_H

#include "api/exchange.h"
#include "base/wire.h"

/* Descriptors of a reply that has them, in this order. */
enum { BH_STDOUT, BH_STDERR };

/* Plain: body and headers as the broker gave them. */
void bh_answer_document(struct bh_exchange *exchange, struct bh_frame *frame);
/* One execution, its kept output in the document. */
void bh_answer_execution(struct bh_exchange *exchange, struct bh_frame *frame);
/* A list: the items have no data and no encoding. */
void bh_answer_execution_list(struct bh_exchange *exchange, struct bh_frame *frame);

/* The bytes of a regular file, or the range of them that is asked for; output.c. */
void bh_answer_file_take(struct bh_exchange *exchange, int fd);
/* The raw bytes; output.c. */
void bh_answer_stdout(struct bh_exchange *exchange, struct bh_frame *frame);
void bh_answer_stderr(struct bh_exchange *exchange, struct bh_frame *frame);

/* Server-Sent Events; events.c. */
void bh_answer_events(struct bh_exchange *exchange, struct bh_frame *frame);

/* Takes data and encoding out of stdout and stderr of an execution's document. */
void bh_execution_strip_data(json_t *execution);

#endif
