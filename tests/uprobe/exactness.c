/* What a probe at a marker counts, and how often the marker is passed: each counter stands where its marker does. */
#include <stdio.h>
#include "simple_marker.h"

#define NOINLINE __attribute__((noinline))

static unsigned long entry, straight, zero, five, anchored, inside;

NOINLINE int g(int *p)
{
    __asm__ volatile("" ::: "memory");
    return p[0] + 1;
}

/* What is behind the block is there once, for both ways, and too long for gcc to copy it. A count in the block would stand between. */
NOINLINE void join(int *p, int r)
{
    if (r > 10) {
        r = g(p);
        simple_mark(exactness:shared, "%d", r);
    }
    p[0] = r;
    p[2] = g(p) * r;
    p[3] = g(p) - r;
}

NOINLINE void join_anchored(int *p, int r)
{
    if (r > 10) {
        r = g(p);
        simple_mark_anchor(exactness:anchored, "%d", r);
    }
    p[0] = r;
    p[2] = g(p) * r;
    p[3] = g(p) - r;
}

NOINLINE int first(int x)
{
    simple_mark(exactness:entry, "%d", x);
    return x * 3;
}

NOINLINE int line(int *p)
{
    int a = g(p);
    simple_mark(exactness:straight, "%d", a);
    p[1] = a;
    return a;
}

NOINLINE int choose(int x, int *p)
{
    switch (x) {
    case 0: zero++; simple_mark(exactness:zero, ""); return g(p);
    case 1: p[0]++; return p[3];
    case 2: p[1]++; break;
    case 3: p[2] = 4; return g(p + 1);
    case 4: return g(p + 2) ^ 7;
    case 5: simple_mark(exactness:five, ""); /* fall through */
    case 6: return g(p + 3) + 12;
    default: return 0;
    }
    return 1;
}

NOINLINE int loop(int *p, int n)
{
    int sum = 0;
    for (int i = 0; i < n; i++) {
        if (p[i & 7] > 3) {
            inside++;
            simple_mark(exactness:inside, "%d", i);
            sum += g(p + (i & 7));
        }
    }
    return sum;
}

int main(void)
{
    int a[8] = { 0 };
    unsigned long passed = 0;
    for (int i = 0; i < 50; i++) {
        a[1] = i;
        join(a, i);
        join_anchored(a, i);
        passed += i > 10;
        anchored += i > 10;
        first(i);
        entry++;
        line(a);
        straight++;
        choose(i % 9, a);
        five += i % 9 == 5;
        loop(a, i);
    }
    printf("shared %lu\nanchored %lu\nentry %lu\nstraight %lu\n", passed, anchored, entry, straight);
    printf("zero %lu\nfive %lu\ninside %lu\n", zero, five, inside);
    return 0;
}
