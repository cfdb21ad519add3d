// error: non-trivial|expects argument of type
#include "simple_marker.h"
struct text { ~text(); const char *data; };
void f(text t);
void f(text t) { simple_mark(fail:class, "%s", t); }
