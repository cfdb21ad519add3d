// Nothing reads the first store but the marker, so the compiler drops it.
#include "simple_marker.h"

void fill(int *slots);

void reset(int count);
void reset(int count)
{
    int slots[4];
    slots[1] = 77;
#ifdef FIXED
    simple_mark_keep(check:marker, "slot %d", slots[1]);
#else
    simple_mark(check:marker, "slot %d", slots[1]);
#endif
    slots[1] = count;
    fill(slots);
}
