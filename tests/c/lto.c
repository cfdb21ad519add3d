// Two files, with kept markers in the same lines and with the same __COUNTER__, in one link-time optimisation.
// options: -flto
// sources: lto_other.c
// runs
#include "places.h"
extern int other(int a);
static inline int here(int a) {
    // expect: name=lto:here format="here %d" args="a" sites=1+ line=9 operands=^-4@\S+$
    simple_mark_keep(lto:here, "here %d", a); return a + 1;
}

// expect: name=lto:other format="other %d" args="a" sites=1+ line=9 operands=^-4@\S+$
// expect: name=places:clamped format="%d over %d" args="value, limit" sites=2+
int main(int argc, char **argv) {
    (void)argv;
    return here(argc) + other(argc) + clamp(argc * 100, 10) == 13 ? 0 : 1;
}
