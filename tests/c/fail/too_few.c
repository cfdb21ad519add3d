// error: expects a matching|more '%' conversions than data arguments
#include "simple_marker.h"
void f(int a);
void f(int a) { simple_mark(fail:few, "%d %d", a); }
