/* An inline function that two files have: the linker keeps one copy. */
#include "simple_marker.h"

__attribute__((noinline)) inline int common(int x)
{
    simple_mark(comdat:common, "%d", x);
    return x * 11 + 3;
}
