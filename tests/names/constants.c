// Enumerators that hide global variables.
#include "simple_marker.h"

#include <stdio.h>

#define NOINLINE __attribute__((noinline))

int total = 1, red = 2, kept = 3;

NOINLINE void enumerators(int add) {
    enum { red = 301 };
    simple_mark_anchor(constants:enumerators, "%d %d %d", red, total, add);
    total += add + red;
}

static inline __attribute__((always_inline)) void inlined(int add) {
    enum { kept = 401 };
    simple_mark_anchor(constants:inlined, "%d %d %d", kept, total, add);
    total += add + kept;
}

NOINLINE void globals(int add) {
    simple_mark_anchor(constants:globals, "%d %d %d %d", total, red, kept, add);
    total += add;
    red += add;
    kept += add;
}

int main(void) {
    for (int turn = 1; turn < 4; turn++) {
        enumerators(turn);
        inlined(turn);
        inlined(total);
        globals(turn);
    }
    printf("%d\n", total + red + kept);
    return 0;
}
