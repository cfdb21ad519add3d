// %d does not print an unsigned long.
#include "simple_marker.h"

int work(int);

int submit(unsigned long sector);
int submit(unsigned long sector)
{
#ifdef FIXED
    simple_mark(check:marker, "sector %lu", sector);
#else
    simple_mark(check:marker, "sector %d", sector);
#endif
    return work((int)sector);
}
