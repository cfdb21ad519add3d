// error: no more than 8 arguments can be kept
#include "simple_marker.h"
void f(int a);
void f(int a) { simple_probe(fail:nine, "%d%d%d%d%d%d%d%d%d", a, a, a, a, a, a, a, a, a); }
