// A computation is not a place that could be read.
#include "simple_marker.h"

int work(int);

int submit(int depth);
int submit(int depth)
{
#ifdef FIXED
    simple_mark_keep(check:marker, "%d", depth * 100);
#else
    simple_mark(check:marker, "%d", depth * 100);
#endif
    return work(depth);
}
