// The first instruction behind the marker has a lock prefix, and the kernel refuses a probe there. Before
// it is a call, so there is no other instruction that stands for the marker.
#include "simple_marker.h"

int work(int);

void add(int *count, int tag);
void add(int *count, int tag)
{
    int done = work(tag);
#ifdef FIXED
    simple_mark_anchor(check:marker, "tag %d", tag);
#else
    simple_mark(check:marker, "tag %d", tag);
#endif
    __atomic_add_fetch(count, 1, __ATOMIC_SEQ_CST);
    *count += done + tag;
}
