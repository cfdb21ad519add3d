// error: a probe takes 12 words, and a text is two of them
#include "simple_marker.h"
void f(const char *a);
void f(const char *a) { simple_probe(fail:words, "%s%s%s%s%s%s%s", a, a, a, a, a, a, a); }
