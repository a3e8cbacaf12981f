/* The bytes of bulkhead-init, for the root template. */
#ifndef BULKHEAD_DRIVERS_CONTAINER_INIT_PROGRAM_H
#define BULKHEAD_DRIVERS_CONTAINER_INIT_PROGRAM_H

#include <stddef.h>

extern const char bh_init_program[];
extern const size_t bh_init_program_size;

#endif
