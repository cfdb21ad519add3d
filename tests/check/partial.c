// A structure that the compiler splits, with one unused part.
#include "simple_marker.h"

long begin(void);
long extent(void);
struct span { long start, length; };

long span(void);
long span(void)
{
    struct span s = { begin(), extent() };
#ifdef FIXED
    simple_mark(check:marker, "%ld", s.length);
#else
    simple_mark(check:marker, "%p", s);
#endif
    return s.length;
}
