// An inline function of C++: each file has it, in a group of which the linker takes one.
#include "simple_marker.h"

__attribute__((noinline)) inline int shared(int a) {
    simple_mark(parts:shared, "%d", a);
    return a * 3;
}
