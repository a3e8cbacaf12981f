/* Loop devices (loop(4)). Used by the images, and by tests that look for what is left. */
#ifndef BULKHEAD_DRIVERS_KERNEL_LOOP_H
#define BULKHEAD_DRIVERS_KERNEL_LOOP_H

#include "base/error.h"

#define BH_LOOP_PATH_SIZE 32

/* Attaches image_fd to a loop device that clears itself with its last user, or finds the one
 * that already holds this very file. Fills the device's path and returns a descriptor of it
 * that keeps it attached, or -1. */
int bh_loop_attach(int image_fd, char ret_path[BH_LOOP_PATH_SIZE], struct bh_error *error);

/* 1 when some loop device holds this file, 0 when none, -1. */
int bh_loop_holds(int image_fd, struct bh_error *error);

#endif
