// After a call that does not return. The compiler learns that only afterwards.
#include "simple_marker.h"

void die(int code);

void fail(int code);
void fail(int code)
{
#ifdef FIXED
    simple_mark(check:marker, "%d", code);
    die(code);
#else
    die(code);
    simple_mark(check:marker, "%d", code);
#endif
    __builtin_unreachable();
}
