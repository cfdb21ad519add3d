// Functions that two files include.
#include "simple_marker.h"

static inline int halved(int a) {
    // expect: every copy that a file has of it.
    simple_mark(parts:halved, "%d", a);
    return a / 2;
}

// C emits no function that is static, inline and not called.
static inline int never(int a) {
    simple_mark(parts:never, "%d", a);
    return a;
}
