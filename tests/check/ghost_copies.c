// A loop of three rounds that compilers unroll, with a copy of the ghost for each.
#include "simple_marker.h"

int work(int);
int finish(int);

int drain(const int *queue);
int drain(const int *queue)
{
    int status = 0;
#pragma GCC unroll 3
    for (int index = 0; index < 3; index++) {
        status += work(queue[index]);
#ifdef FIXED
        simple_mark(check:marker, "status %d", status);
#else
        simple_mark_ghost(check:marker, "status %d", status);
#endif
        status += finish(status);
    }
    return status;
}
