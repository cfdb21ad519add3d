/* A number in a vector register, which the kernel hands to no tool. With -DFIXED it is kept. */
#include "simple_marker.h"

__attribute__((noinline)) double marked(double load) {
#if defined FIXED
    simple_mark_keep(check:marker, "%f", load);
#else
    simple_mark(check:marker, "%f", load);
#endif
    return load * 2;
}

int main(int count, char **arguments) {
    (void)arguments;
    return marked(count) < 0;
}
