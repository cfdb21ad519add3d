// only: gcc
// error: file must not have % \{ \| \} in its name
#include "simple_marker.h"
void f(int a);
#line 7 "100%.c"
void f(int a) { simple_probe(fail:file, "%d", a); }
