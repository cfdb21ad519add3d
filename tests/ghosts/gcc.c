/* Ghosts that gcc compiles, in the line table. tests/rust/ghost_statements.rs compares them. */
#include <simple_marker.h>

#define STEP() simple_mark_ghost(gcc:wrapped, "")

int work(int a);
int plain(int a);
int choose(int a, int b);
int both(int a);
int sum(const int *items);
int again(int a);
int apart(int a);

static inline int inlined(int a) {
    if (a > 3) {
        simple_mark_ghost(gcc:inlined, "%d", a);
        a += work(a);
    }
    return a;
}

int plain(int a) {
    a = work(a);
    simple_mark_ghost(gcc:plain, "%d", a);
    if (a > 7) {
        simple_mark_ghost(gcc:arm, "%d", a);
        work(1);
    }
    return inlined(a) + inlined(a + 1);
}

/* The branch becomes a conditional move. */
int choose(int a, int b) {
    int c = b;
    if (a > 7) {
        c = a;
        simple_mark_ghost(gcc:converted, "%d", c);
    }
    return work(c);
}

int both(int a) {
    simple_mark_ghost(gcc:one, ""); simple_mark_ghost(gcc:other, "");
    a = work(a); simple_mark_ghost(gcc:beside, "%d", a);
    return work(a + 1);
}

/* The loop is unrolled, and both copies of the ghost are in straight code. */
int sum(const int *items) {
    int sum = 0;
    for (int i = 0; i < 2; i++) {
        sum += work(items[i]);
        simple_mark_ghost(gcc:element, "%d", sum);
    }
    return sum;
}

int again(int a) {
    STEP();
    return work(a + 2);
}

int apart(int a) {
#line 1000
    simple_mark_ghost(gcc:renumbered, "");
    return work(a + 3);
}
