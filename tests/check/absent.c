// Debug information does not have the names of macros.
#include "simple_marker.h"

int work(int);

int submit(int request);
int submit(int request)
{
#ifdef FIXED
    simple_mark(check:marker, "%d", request);
#else
#define CURRENT request
    simple_mark(check:marker, "%d", CURRENT);
#endif
    return work(request);
}
