// SIMPLE_MARKER_OFF: no section, and nothing is evaluated.
// options: -DSIMPLE_MARKER_OFF
// absent: off:mark
// absent: off:anchor
// absent: off:keep
// runs
#include "simple_marker.h"

static int calls;
static int count(void) {
    return ++calls;
}

int main(void) {
    int only_marked = 1;
    simple_mark(off:mark, "%d", only_marked);
    simple_mark(off:mark, "alone");
    simple_mark_anchor(off:anchor, "%d", count());
    simple_mark_keep(off:keep, "%d", count());
    simple_mark_keep_anchor(off:keep, "%d", count());
    return calls;
}
