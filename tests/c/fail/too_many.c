// options: -Werror=format-extra-args
// error: too many arguments for format|data argument not used by format string
#include "simple_marker.h"
void f(int a);
void f(int a) { simple_mark(fail:many, "%d", a, a); }
