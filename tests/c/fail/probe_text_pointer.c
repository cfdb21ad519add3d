// error: a char \* is text: cast it to void \* for %p
#include "simple_marker.h"
void f(char *a, int *b);
void f(char *a, int *b) { simple_probe(fail:pointer, "%p %d %p", (void *)b, 1, a); }
