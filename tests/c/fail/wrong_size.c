// error: format .*%d.*expects|format specifies type 'int'
#include "simple_marker.h"
void f(unsigned long long a);
void f(unsigned long long a) { simple_mark(fail:size, "%d", a); }
