/* Two functions of the same code, with a marker each: a linker that folds them leaves one. */
#include "simple_marker.h"

#define NOINLINE __attribute__((noinline))

NOINLINE int one(int x)
{
    simple_mark(folded:one, "%d", x);
    return x * 3 + 1;
}

NOINLINE int two(int x)
{
    simple_mark(folded:two, "%d", x);
    return x * 3 + 1;
}

int main(int count, char **arguments)
{
    (void)arguments;
    return one(count) + two(count) - 8;
}
