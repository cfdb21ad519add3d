// options: -DSIMPLE_MARKER_OFF
// error: argument 1 cannot be kept
#include "simple_marker.h"
struct pair { int a, b; };
void f(struct pair p);
void f(struct pair p) { simple_mark_keep(fail:struct, "%d", p); }
