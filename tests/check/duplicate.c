// Two markers with the same name.
#include "simple_marker.h"

int work(int);

int submit(int request);
int submit(int request)
{
#ifdef FIXED
    simple_mark(check:submitted, "request %d", request);
#else
    simple_mark(check:marker, "request %d", request);
#endif
    request = work(request);
    simple_mark(check:marker, "done %d", request);
    return work(request);
}
