// error: expects argument of type|specifies type 'void \*'
#include "simple_marker.h"
struct queue { int depth; };
void f(struct queue *queue);
void f(struct queue *queue) { simple_mark(fail:whole, "%p{}", *queue); }
