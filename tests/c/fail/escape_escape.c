// error: the assembler does not know \\\\?e|invalid escape sequence
#include "simple_marker.h"
void f(void);
void f(void) { simple_mark(fail:escape, "\e[1m"); }
