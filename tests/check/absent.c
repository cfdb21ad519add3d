// The name of a macro is in no debug information.
#include "simple_marker.h"

int work(int);

int submit(int request);
int submit(int request)
{
#ifdef MENDED
    simple_mark(check:marker, "%d", request);
#else
#define CURRENT request
    simple_mark(check:marker, "%d", CURRENT);
#endif
    return work(request);
}
