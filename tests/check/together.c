// Two variables with one value share a register until one of them changes.
#include "simple_marker.h"

int work(int);
int finish(int);

int submit(void);
int submit(void)
{
    int tag = work(0);
    int depth = tag;
    finish(depth);
    depth = depth * depth;
#ifdef FIXED
    simple_mark_keep(check:marker, "tag %d", tag);
#else
    simple_mark(check:marker, "tag %d", tag);
#endif
    work(depth);
    return finish(depth);
}
