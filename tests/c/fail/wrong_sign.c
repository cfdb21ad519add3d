// only: gcc
// error: format .*%u.*expects
#include "simple_marker.h"
void f(int a);
void f(int a) { simple_mark(fail:sign, "%u", a); }
