/* The bytes of bulkhead-init, for the root template. */
#ifndef BULKHEAD_DRIVERS_CONTAINER_INIT_PROGRAM_H
#define BULKHEAD_DRIVERS_CONTAINER_INIT_PROGRAM_H

extern const char bh_init_program[], bh_init_program_end[];

#endif
