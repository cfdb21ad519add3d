// only: gcc
// error: has an escape that the assembler reads differently
#include "simple_marker.h"
void f(int a);
void f(int a) { simple_mark_keep(fail:octal, "\18 %d", a); }
