// The compiler copies and merges code: every copy has its record, and nothing is defined twice.
// runs
#include "simple_marker.h"

static int total;
__attribute__((noinline)) static int one(int a) { return a + (total += 1); }
__attribute__((noinline)) static int two(int a) { return a + (total += 2); }

// expect: name=copies:always format="%d" args="a" sites=3 flags=0
// expect: name=copies:kept format="%d %d" args="a, b" sites=3 flags=2 operands=^-4@\S+ -4@\S+$
// expect: name=copies:anchored format="%d" args="a" sites=3 flags=1
static inline __attribute__((always_inline)) void always(int a, int b) {
    simple_mark(copies:always, "%d", a);
    simple_mark_keep(copies:kept, "%d %d", a, b);
    simple_mark_anchor(copies:anchored, "%d", a);
    total += b;
}

// Three calls with different constants: three copies.
__attribute__((noinline)) static int inlined(int a) {
    always(a, 1);
    a = one(a);
    always(a, 2);
    a = two(a);
    always(a, 3);
    return a;
}

// Two arms that end alike: a compiler may merge what they share (-fcrossjumping, LLVM's BranchFolding) and split it elsewhere.
// expect: name=copies:tail_kept format="%d" args="r" sites=1+ flags=2 operands=^-4@\S+$
static inline __attribute__((always_inline)) int tail(int r) {
    simple_mark_keep(copies:tail_kept, "%d", r);
    return r;
}
__attribute__((noinline)) static int merged(int a) {
    if (a & 1)
        return tail(one(a));
    if (a & 2)
        return tail(two(a));
    if (a & 4)
        return tail(one(two(a)));
    return tail(a);
}

// expect: name=copies:unrolled format="%d" args="i" sites=1+ flags=0
// expect: name=copies:unrolled_kept format="%d" args="i" sites=1+ flags=2 operands=^-4@\S+$
// values: copies:unrolled_kept 0
// values: copies:unrolled_kept 1
// values: copies:unrolled_kept 2
// values: copies:unrolled_kept 3
__attribute__((noinline)) static int unrolled(int a) {
    for (int i = 0; i < 4; i++) {
        simple_mark(copies:unrolled, "%d", i);
        simple_mark_keep(copies:unrolled_kept, "%d", i);
        a = one(a);
    }
    return a;
}

// Two markers that differ in nothing but their text and their line do not become one.
// expect: name=copies:left format="%d" args="a" sites=1 flags=2 operands=^-4@\S+$
// expect: name=copies:right format="%d" args="a" sites=1 flags=2 operands=^-4@\S+$
// values: copies:right 1
__attribute__((noinline)) static int twins(int a) {
    if (a > 100) {
        simple_mark_keep(copies:left, "%d", a);
    } else {
        simple_mark_keep(copies:right, "%d", a);
    }
    return a;
}

int main(int argc, char **argv) {
    (void)argv;
    int sum = twins(argc) + inlined(1) + merged(1) + merged(2) + merged(4) + merged(8) + unrolled(1);
    return sum > 0 ? 0 : 1;
}
