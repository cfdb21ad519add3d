// error: a char \* is text: cast it to void \* for %p
#include "simple_marker.h"
void f(const unsigned char *a);
void f(const unsigned char *a) { simple_probe(fail:pointer, "100%%p %-20p", a); }
