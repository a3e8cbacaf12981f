/* Coalescing of output reports; see watch.h. */
#include "broker/shim/watch.h"

void bh_watch_switch(struct bh_watch *watch, bool on)
{
        *watch = (struct bh_watch){.on = on};
}

bool bh_watch_grew(const struct bh_watch *watch, int64_t out, int64_t err)
{
        return watch->on && (out > watch->out || err > watch->err);
}

bool bh_watch_tell(struct bh_watch *watch, int64_t out, int64_t err, int64_t now_us)
{
        if (!bh_watch_grew(watch, out, err) || now_us < watch->not_before_us)
                return false;
        watch->out = out;
        watch->err = err;
        watch->not_before_us = now_us + BH_WATCH_INTERVAL_US;
        return true;
}
