// A parameter that is unused after a call: only the register's value on entry is known.
#include "simple_marker.h"

int work(int);
int finish(int);

int submit(int tag);
int submit(int tag)
{
    int status = work(tag);
#ifdef FIXED
    simple_mark_keep(check:marker, "tag %d", tag);
#else
    simple_mark(check:marker, "tag %d", tag);
#endif
    return finish(status);
}
