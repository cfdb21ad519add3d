// A ghost in straight code: its place is a row of the line table, which proves nothing.
#include "simple_marker.h"

int work(int);
int finish(int);

int submit(int tag);
int submit(int tag)
{
    int status = work(tag);
#ifdef FIXED
    simple_mark(check:marker, "status %d", status);
#else
    simple_mark_ghost(check:marker, "status %d", status);
#endif
    return finish(status) + 1;
}
