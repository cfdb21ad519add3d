// error: argument 1 cannot be kept
#include "simple_marker.h"
struct pair { int a, b; };
void f(pair p);
void f(pair p) { simple_mark_keep(fail:struct, "%d", p); }
