// Compiled without -g, so nothing is known about the argument.
#include "simple_marker.h"

int work(int);

int submit(int depth);
int submit(int depth)
{
    simple_mark(check:marker, "%d", depth);
    return work(depth);
}
