// An unsigned long is not what %d prints.
#include "simple_marker.h"

int work(int);

int submit(unsigned long sector);
int submit(unsigned long sector)
{
#ifdef MENDED
    simple_mark(check:marker, "sector %lu", sector);
#else
    simple_mark(check:marker, "sector %d", sector);
#endif
    return work((int)sector);
}
