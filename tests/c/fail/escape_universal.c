// error: the assembler does not know \\\\?u|invalid escape sequence
#include "simple_marker.h"
void f(void);
void f(void) { simple_mark(fail:universal, "\u00e9"); }
