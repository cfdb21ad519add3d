// The last use of the variable is the call before the marker.
#include "simple_marker.h"

int work(int);
int finish(int);

int submit(void);
int submit(void)
{
    int tag = work(0);
    int status = work(tag);
#ifdef FIXED
    simple_mark_keep(check:marker, "tag %d", tag);
#else
    simple_mark(check:marker, "tag %d", tag);
#endif
    return finish(status);
}
