// error: argument 1 cannot be kept
#include "simple_marker.h"
void f(long double d);
void f(long double d) { simple_mark_keep(fail:long_double, "%Lf", d); }
