#include "shared.h"

// Two probes on one line, and one that is unrolled.
int from_c(int a) {
    simple_probe(copies:first, "%d", a); simple_probe(copies:second, "%d", a);
    for (int i = 0; i < 4; i++) {
        simple_probe(copies:unrolled, "%d", i);
        a = in_both(a);
    }
    return a;
}

// Nobody calls it.
int dropped(int a) {
    simple_probe(copies:dropped, "%d", a);
    return a;
}
