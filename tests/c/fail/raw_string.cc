// error: junk at end of line|expected string|unexpected token|Error:|expected newline
#include "simple_marker.h"
void f();
void f() { simple_mark(fail:raw, R"(raw %%)"); }
