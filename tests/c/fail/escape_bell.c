// error: the assembler does not know \\\\?a|invalid escape sequence
#include "simple_marker.h"
void f(void);
void f(void) { simple_mark(fail:bell, "\a"); }
