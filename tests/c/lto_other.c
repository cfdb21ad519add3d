// The other file of lto.c.
// only: with lto.c
//
//
#include "places.h"
int other(int a);
int other(int a) {
    clamp(a * 200, 20);
    simple_mark_keep(lto:other, "other %d", a); return a - 1 + 1;
}
