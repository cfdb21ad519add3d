// only: gcc
// error: the name must be identifiers joined by colons
#include "simple_marker.h"
void f(void);
void f(void) { simple_mark(fail : spaces, "x"); }
