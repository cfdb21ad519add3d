// A variable that is last used by the call before the marker.
#include "simple_marker.h"

int work(int);
int finish(int);

int submit(void);
int submit(void)
{
    int tag = work(0);
    int status = work(tag);
#ifdef MENDED
    simple_mark_keep(check:marker, "tag %d", tag);
#else
    simple_mark(check:marker, "tag %d", tag);
#endif
    return finish(status);
}
