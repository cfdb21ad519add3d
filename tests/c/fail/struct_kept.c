// error: argument 2 cannot be kept
#include "simple_marker.h"
struct pair { int a, b; };
void f(int n, struct pair p);
void f(int n, struct pair p) { simple_mark_keep(fail:struct, "%d %d", n, p); }
