// Linked with --gc-sections, which drops unreferenced functions.
#include "simple_marker.h"

int finish(int);

static inline __attribute__((always_inline)) int helper(int depth)
{
    simple_mark(check:helper, "depth %d", depth);
    return finish(depth);
}

int drain(int depth);
int drain(int depth) { return helper(depth) + 1; }

int dump(int depth);
int dump(int depth)
{
    simple_mark(check:marker, "depth %d", depth);
    return finish(depth);
}

int main(int argc, char **argv)
{
    (void)argv;
#ifdef FIXED
    return dump(argc) + drain(argc);
#else
    return argc;
#endif
}
