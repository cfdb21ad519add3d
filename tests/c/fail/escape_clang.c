// only: clang
// error: invalid escape sequence
#include "simple_marker.h"
void f(void);
void f(void) { simple_mark(fail:apostrophe, "don\'t"); }
