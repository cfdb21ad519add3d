// Two copies of a function. One of them loses the argument before the marker.
#include "simple_marker.h"

int work(int);
int finish(int);

static inline __attribute__((always_inline)) int submit(int tag, int uses)
{
    int status = work(tag);
#ifdef FIXED
    simple_mark_keep(check:marker, "tag %d", tag);
#else
    simple_mark(check:marker, "tag %d", tag);
#endif
    return uses ? finish(status + tag) : finish(status);
}

int with(void);
int with(void) { return submit(work(1), 1); }
int without(void);
int without(void) { return submit(work(1), 0); }
