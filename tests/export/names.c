// Markers in functions with every kind of name that C compilers make. Each is followed by a line that says the same
// (tests/rust/export_names.rs). NAMES is a list of symbols, `X(number, "symbol")`, which the test generates.
#include "simple_marker.h"

#include <stdio.h>

#ifdef __clang__
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE __attribute__((noinline, noclone))
#endif
#define OPAQUE(x) __asm__ volatile("" : "+r"(x))
#define MARK(name, format, ...)                     \
    do {                                            \
        simple_mark(name, format, __VA_ARGS__);     \
        printf(#name " " format "\n", __VA_ARGS__); \
    } while (0)
#define KEEP(name, format, ...)                      \
    do {                                             \
        simple_mark_keep(name, format, __VA_ARGS__); \
        printf(#name " " format "\n", __VA_ARGS__);  \
    } while (0)

int second(int x);

// A function whose symbol has the given name. Its debug information has the other one.
#define X(number, symbol)                      \
    NOINLINE int named##number(int) __asm__(symbol); \
    NOINLINE int named##number(int x) {        \
        OPAQUE(x);                             \
        MARK(names:n##number, "%d", x);        \
        return x + number;                     \
    }
NAMES
#undef X

// gcc splits these: `partial.part.0`, `by_pointer.isra.0`, `constant.constprop.0`, `rare.cold`.
int partial(int fd) {
    if (fd < 0) {
        return -1;
    }
    OPAQUE(fd);
    MARK(names:partial, "fd %d", fd);
    for (int i = 0; i < 9; i++) {
        OPAQUE(fd);
        printf("%d\r", fd + i);
        fd += fd % 7 ? puts("x\r") : puts("y\r");
    }
    for (int i = 0; i < 5; i++) {
        printf("%d%d\r", i, fd * i);
        printf("%d%d\r", fd, fd / (i + 1));
    }
    return fd;
}
int one(int fd) { return partial(fd) + 1; }
int two(int fd) { return partial(fd * 2) + 2; }

struct pair { int a, b; };
__attribute__((noinline)) static int by_pointer(struct pair *pair) {
    int a = pair->a;
    OPAQUE(a);
    MARK(names:by_pointer, "%d", a);
    return a + pair->b;
}

__attribute__((noinline)) static int constant(int x, int by) {
    OPAQUE(x);
    MARK(names:constant, "%d", x);
    return x * by;
}

__attribute__((cold, noinline)) static void complain(int x) { printf("%d\r", x); }
__attribute__((noinline)) static int rare(int x) {
    OPAQUE(x);
    if (x == 2) {
        complain(x);
        MARK(names:rare, "%d", x);
        complain(x + 1);
    }
    return x;
}

// gcc calls the nested function `inner.0`, and what its threads run `threads._omp_fn.0`.
#ifndef __clang__
NOINLINE static int nested(int x) {
    NOINLINE int inner(int more) {
        OPAQUE(more);
        KEEP(names:inner, "%d", more);
        return x + more;
    }
    OPAQUE(x);
    KEEP(names:nested, "%d", x);
    return inner(x + 1);
}
#else
static int nested(int x) { return x; }
#endif
NOINLINE static int threads(int x) {
#ifdef _OPENMP
#pragma omp parallel for num_threads(2)
#endif
    for (int i = 0; i < 2; i++) {
        int each = x + i;
        OPAQUE(each);
        KEEP(names:threads, "%d", each);
    }
    return x;
}

// Another one of this name is in the second file.
NOINLINE static int same(int x) {
    OPAQUE(x);
    MARK(names:same_first, "%d", x);
    return x;
}

#ifndef __clang__
__attribute__((target_clones("avx2", "default")))
#endif
int cloned(int x) {
    OPAQUE(x);
    MARK(names:cloned, "%d", x);
    return x;
}

#ifndef __clang__
static NOINLINE int chosen_impl(int x) {
    OPAQUE(x);
    MARK(names:chosen, "%d", x);
    return x;
}
static int (*resolve(void))(int) { return chosen_impl; }
int chosen(int) __attribute__((ifunc("resolve")));
#else
static NOINLINE int chosen(int x) {
    OPAQUE(x);
    MARK(names:chosen, "%d", x);
    return x;
}
#endif

int main(void) {
    int sum = 0;
    for (int i = 1; i < 4; i++) {
        // A local variable with the name of a function.
        int same_name = i;
        OPAQUE(same_name);
        struct pair pair = {5 + i, i};
        sum += one(17 + i) + one(-i) + two(30 + i) + by_pointer(&pair) + constant(i, 12) + rare(i);
        sum += same(i) + second(i) + cloned(i) + chosen(same_name) + nested(i) + threads(i);
#define X(number, symbol) sum += named##number(100 * number + i);
        NAMES
#undef X
    }
    printf("%d\r", sum);
    return 0;
}
