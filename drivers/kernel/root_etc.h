/* The made /etc of the root template. Called by root.c only. */
#ifndef BULKHEAD_DRIVERS_KERNEL_ROOT_ETC_H
#define BULKHEAD_DRIVERS_KERNEL_ROOT_ETC_H

#include "base/error.h"

/* Writes etc/ below root. */
int bh_root_make_etc(int root, struct bh_error *error);

#endif
