// error: expects a matching|more '%' conversions than data arguments
#include "simple_marker.h"
void f(void);
void f(void) { simple_mark(fail:none, "%d"); }
