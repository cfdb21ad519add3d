// No instruction: at -O0 the code is that of -DNO_MARKERS to the byte, and on x86-64 it has as many instructions at every level. With
// optimisation a compiler may order them otherwise or choose other registers; elsewhere that may come to an instruction more or less.
// same-code: -DNO_MARKERS
#include "simple_marker.h"

#if defined NO_MARKERS
#undef simple_mark
#define simple_mark(...) ((void)0)
#endif

extern int work(int);
extern void touch(const int *);

int straight(int a, int b) {
    simple_mark(zero:enter, "%d %d", a, b);
    a = work(a + b);
    simple_mark(zero:middle, "no arguments");
    b = work(a - b);
    simple_mark(zero:leave, "%d", b);
    return a * b;
}

int loop(const int *p, int n) {
    int sum = 0;
    for (int i = 0; i < n; i++) {
        simple_mark(zero:loop, "%d %d", i, sum);
        sum += work(p[i]);
    }
    return sum;
}

static inline int small(int a) {
    simple_mark(zero:small, "%d", a);
    return work(a) + 1;
}

int calls_small(int a) {
    return small(a) * small(a + 1);
}

void stores(int *p, int a) {
    *p = a;
    simple_mark(zero:stored, "%d", *p);
    touch(p);
    p[1] = a + 1;
}

int recursive(int n) {
    simple_mark(zero:recursive, "%d", n);
    return n <= 1 ? work(n) : recursive(n - 1) + work(n);
}
