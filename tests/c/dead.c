// A function that nothing calls: --gc-sections drops it and is not stopped by its markers, which have the address 0.
// options: -ffunction-sections -Wl,--gc-sections
// only: link
// runs
#include "simple_marker.h"

int unreferenced(int a);
int unreferenced(int a) {
    // expect: name=dead:mark format="%d" args="a" sites=1
    // dead: dead:mark
    simple_mark(dead:mark, "%d", a);
    // expect: name=dead:kept format="%d" args="a" sites=1
    // dead: dead:kept
    simple_mark_keep(dead:kept, "%d", a);
    return a;
}

int main(void) {
    // expect: name=dead:not format="here" args="" sites=1
    simple_mark(dead:not, "here");
    return 0;
}
