// error: two probes of one name and line have different arguments
#include "simple_marker.h"
void f(int a, const char *b);
#define BOTH(a, b) simple_probe(fail:twice, "%d", a); simple_probe(fail:twice, "%s", b)
void f(int a, const char *b) { BOTH(a, b); }
