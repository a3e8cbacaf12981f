/* Checks a whole audit log the way docs/audit.md says, from entry 1. */
#ifndef BULKHEAD_TESTS_UNIT_BROKER_VERIFIED_H
#define BULKHEAD_TESTS_UNIT_BROKER_VERIFIED_H

#include <fcntl.h>
#include <stdio.h>

#include "base/audit_chain.h"
#include "broker/daemon/audit_file.h"
#include "unit.h"

static inline int verify_audit_file(int directory, int64_t first, struct bh_chain *chain)
{
        char name[BH_AUDIT_NAME_SIZE];
        off_t offset = 0;
        bh_audit_file_name(first, name);
        _cleanup_close_ int fd = openat(directory, name, O_RDONLY | O_CLOEXEC);
        assert_true(fd >= 0);
        for (;;) {
                _cleanup_json_ json_t *entry = NULL;
                int r = bh_audit_line(fd, offset, &entry, &offset, NULL);
                if (r == 0)
                        return lseek(fd, 0, SEEK_END) == offset ? 0 : -1;
                if (r < 0 || bh_chain_check(chain, entry, NULL) < 0)
                        return -1;
        }
}

/* How many entries there are, -1 when the chain is broken or a line is not whole. */
static inline int64_t verified_entries(int directory)
{
        _cleanup_free_ int64_t *files = NULL;
        size_t count = 0;
        struct bh_chain chain;
        bh_chain_start(&chain);
        assert_int_equal(bh_audit_files(directory, &files, &count, NULL), 0);
        for (size_t i = 0; i < count; i++)
                if (files[i] != chain.count + 1 ||
                    verify_audit_file(directory, files[i], &chain) < 0)
                        return -1;
        return chain.count;
}

#endif
