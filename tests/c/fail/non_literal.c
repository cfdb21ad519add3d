// error: expected '\)' before string constant|expected '\)'|expected ‘\)’
#include "simple_marker.h"
void f(const char *format);
void f(const char *format) { simple_mark(fail:literal, format); }
