// A loop of three rounds that compilers unroll, with a copy of the marker for each.
#include "simple_marker.h"

int work(int);
int finish(int);

int drain(const int *queue);
int drain(const int *queue)
{
    int status = 0;
#pragma GCC unroll 3
    for (int index = 0; index < 3; index++) {
        int tag = queue[index];
        status += work(tag);
#ifdef FIXED
        simple_mark_keep(check:marker, "tag %d", tag);
#else
        simple_mark(check:marker, "tag %d", tag);
#endif
        status += finish(status);
    }
    return status;
}
