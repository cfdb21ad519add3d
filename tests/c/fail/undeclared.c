// error: undeclared
#include "simple_marker.h"
void f(void);
void f(void) { simple_mark(fail:undeclared, "%d", no_such_variable); }
