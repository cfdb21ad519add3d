// error: the name is empty
#include "simple_marker.h"
void f(void);
void f(void) { simple_mark(, "x"); }
