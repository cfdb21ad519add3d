// The marker has no site record, and its line has no instruction.
#include "old.h"
#include "simple_marker.h"

int work(int);

int failed(int status);
int failed(int status)
{
    if (status)
#ifdef FIXED
        simple_mark(check:marker, "status %d", status);
#else
        old_mark(check:marker, "status %d", "status");
#endif
    return work(status);
}
