#include "inline.h"

int other(int a);

__attribute__((noinline)) int other(int a) {
    if (a > 2) {
        simple_mark(parts:other, "%d", a);
        return halved(a + 3);
    }
    return a;
}
