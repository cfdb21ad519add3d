// No site record, and no instruction on the line of the marker.
#include "old.h"
#include "simple_marker.h"

int work(int);

int failed(int status);
int failed(int status)
{
    if (status)
#ifdef MENDED
        simple_mark(check:marker, "status %d", status);
#else
        old_mark(check:marker, "status %d", "status");
#endif
    return work(status);
}
