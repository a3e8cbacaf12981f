/* See setup.h. */
#include "drivers/subprocess/setup.h"

#include <errno.h>
#include <string.h>

void bh_setup_expect(const struct bh_setup *setup, const char *control, const char *step,
                     int result)
{
        const char *fault = setup->instance->fault;

        if (fault && strcmp(fault, control) == 0)
                result = -EPERM;
        if (result < 0)
                bh_report_failure(setup->channel, control, step, result);
}
