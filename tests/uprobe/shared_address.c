/* Functions that share their address with one that has no marker, with an alias, and with one of a file without debug information
   (undescribed.c). */
#include "simple_marker.h"

#define NOINLINE __attribute__((noinline))

NOINLINE int marked(int x)
{
    simple_mark(shared:marked, "%d", x);
    return x * 5 + 1;
}

NOINLINE int aliased(int x)
{
    simple_mark(shared:aliased, "%d", x);
    return x * 7 + 1;
}

int other_name(int x) __attribute__((alias("aliased")));

NOINLINE int bare(int x)
{
    return x * 5 + 1;
}

NOINLINE int described(int x)
{
    simple_mark(shared:described, "%d", x);
    return x * 9 + 7;
}

int undescribed(int x);

int main(int count, char **arguments)
{
    (void)arguments;
    return marked(count) + bare(count) + aliased(count) + other_name(count) + described(count) + undescribed(count) - 60;
}
