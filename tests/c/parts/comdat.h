// A C++ inline function. Each file has it in a group, and the linker keeps one copy.
#include "simple_marker.h"

__attribute__((noinline)) inline int shared(int a) {
    simple_mark(parts:shared, "%d", a);
    return a * 3;
}
