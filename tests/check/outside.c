// Behind a call that does not return, which the compiler is told only afterwards.
#include "simple_marker.h"

void die(int code);

void fail(int code);
void fail(int code)
{
#ifdef MENDED
    simple_mark(check:marker, "%d", code);
    die(code);
#else
    die(code);
    simple_mark(check:marker, "%d", code);
#endif
    __builtin_unreachable();
}
