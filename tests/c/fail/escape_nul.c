// options: -Wno-format-contains-nul -Wno-format
// error: the format has a NUL in it
#include "simple_marker.h"
void f(void);
void f(void) { simple_mark(fail:nul, "a\0b"); }
