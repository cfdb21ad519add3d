// options: -DSIMPLE_MARKER_OFF
// error: format .*%s.*expects|format specifies type 'char \*'
#include "simple_marker.h"
void f(int a);
void f(int a) { simple_probe(fail:conversion, "%s", a); }
