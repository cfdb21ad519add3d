// Names: shadowed, declared further down, the same in two scopes, static beside local; functions that are inlined at several places,
// markers that are the last thing in one, copies of a tail.
#include "simple_marker.h"

#ifdef __clang__
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE __attribute__((noinline, noclone))
#endif
#define ALWAYS static inline __attribute__((always_inline))
#define OPAQUE(x) __asm__ volatile("" : "+r"(x))
// An instruction: the address of the marker before it is in the marker's own block.
#define KEEP(x) __asm__ volatile("nop" ::"r"(x) : "memory")
#define USE(x) __asm__ volatile("" ::"m"(x) : "memory")

static int n = -1;
static int only_static = 31;

NOINLINE int step(int value) {
    OPAQUE(value);
    return value + 1;
}

NOINLINE int shadowed(int value) {
    int result = step(value);
    simple_mark(scopes:outer, "%d", value); //~ 10
    KEEP(value);
    {
        int value = result * 2;
        simple_mark(scopes:inner, "%d", value); //~ 22
        KEEP(value);
        {
            long value = 5;
            // clang for AArch64 adds `value` to `result` before the marker, and says so: 33.
            simple_mark(scopes:innermost, "%ld %d", value, result); //~ 5 11|33
            KEEP(result);
        }
        // Nothing tells whether the marker is the last thing in the block before it.
        simple_mark(scopes:inner:again, "%d", value); //~ 22 ?
        KEEP(value);
        result += value;
    }
    simple_mark(scopes:outer:again, "%d %d", value, result); //~ 10 33 ?
    KEEP(value);
    return result + value;
}

// The same without an instruction of the blocks' own: what stands at the addresses is another block's, and the names mean other
// variables there. Debug information does not say where a block ends in the source: the right one, or none.
NOINLINE int bare(int value) {
    int result = step(value);
    {
        int value = result * 2;
        {
            long value = 5;
            simple_mark(scopes:bare:innermost, "%ld", value); //~ 5 ?
        }
        simple_mark(scopes:bare:inner, "%d", value); //~ 22 ?
        result += value;
    }
    simple_mark(scopes:bare:outer, "%d", value); //~ 10 ?
    return result + value;
}

// The block has an `n` of its own, but further down: here `n` is the static one, or the parameter.
NOINLINE int declared_later(int m) {
    int before = step(m);
    simple_mark(scopes:static_until, "%d %d", n, before); //~ -1 8
    KEEP(before);
    int n = before * 3;
    OPAQUE(n);
    simple_mark(scopes:local_from, "%d", n); //~ 24
    KEEP(n);
    return n;
}

NOINLINE int declared_later_in_block(int value) {
    int sum = 0;
    for (int i = 0; i < 2; i++) {
        simple_mark(scopes:parameter_until, "%d %d", value, i); //~ 3 0|1
        KEEP(value);
        sum += value;
        int value = step(i) + 100;
        simple_mark(scopes:block_from, "%d", value); //~ 101|102
        KEEP(value);
        sum += value;
    }
    return sum + value;
}

NOINLINE int statics(int a) {
    static int n = 70;
    n += a - a;
    simple_mark(scopes:static_in_function, "%d %d", n, only_static); //~ 70 31
    KEEP(a);
    {
        static int n = 80;
        KEEP(&n);
        simple_mark(scopes:static_in_block, "%d", n); //~ 80
        KEEP(a);
    }
    return n;
}

NOINLINE int siblings(int a) {
    int total = 0;
    {
        int same = step(a);
        simple_mark(scopes:sibling:first, "%d", same); //~ 3
        KEEP(same);
        total += same;
    }
    {
        int same = step(a) * 10;
        simple_mark(scopes:sibling:second, "%d %d", same, total); //~ 30 3
        KEEP(same);
        total += same;
    }
    return total;
}

ALWAYS int inlined(int value) {
    int local = value * 7;
    simple_mark(scopes:inlined, "%d %d", value, local); //~ 1|2|31 7|14|217
    KEEP(local);
    return local;
}

ALWAYS int around(int value) {
    int local = value + 30;
    return inlined(local) + local;
}

NOINLINE int three_copies(int a) {
    int value = inlined(a);
    OPAQUE(value);
    value += inlined(a + 1);
    OPAQUE(value);
    return value + around(a);
}

// The marker is the last thing in the inlined function: its scope may end where it stands.
ALWAYS void ends(int value, int *count) {
    int shown = value + *count;
    *count = step(shown);
    simple_mark(scopes:ends, "%d %d", value, *count); //~ 5|6 _
}

NOINLINE int ended(int a) {
    int count = 0, value = 99;
    OPAQUE(value);
    ends(a, &count);
    ends(a + 1, &count);
    KEEP(value);
    return count + value;
}

// Right behind the marker stands an inlined call with variables of the same names.
ALWAYS int callee(int value) {
    int local = value ^ 1;
    KEEP(local);
    return local;
}

NOINLINE int before_inlined(int local) {
    int value = step(local);
    simple_mark(scopes:before_inlined, "%d %d", value, local); //~ 41 40
    return callee(local + 5) + value;
}

NOINLINE int tail(int a) {
    int result;
    switch (a) {
    case 0: result = step(10); break;
    case 1: result = step(20); break;
    case 2: result = 3; break;
    default: result = a;
    }
    simple_mark(scopes:tail, "%d %d", a, result); //~ 0|1|2|3 11|21|3
    KEEP(a);
    return step(result);
}

NOINLINE int branch(int a, int *out) {
    if (a > 1) {
        int chosen = step(a);
        simple_mark(scopes:branch, "%d", a); //~ _
        *out = chosen;
    }
    out[1] = a;
    return a;
}

NOINLINE int recursive(int depth, int sum) {
    int local = depth * 2;
    OPAQUE(local);
    simple_mark(scopes:recursive, "%d %d %d", depth, sum, local); //~ 3|2|1|0 _ 6|4|2|0
    KEEP(local);
    if (depth == 0)
        return sum;
    return recursive(depth - 1, sum + local) + local;
}

int main(void) {
    int total = 0, out[2];
    for (int round = 0; round < 2; round++) {
        USE(n);
        USE(only_static);
        total += shadowed(10);
        total += bare(10);
        total += declared_later(7);
        total += declared_later_in_block(3);
        total += statics(1);
        total += siblings(2);
        total += three_copies(1);
        total += ended(5);
        total += before_inlined(40);
        total += tail(0) + tail(1) + tail(2) + tail(3);
        total += branch(1, out) + branch(2, out);
        total += recursive(3, 0);
    }
    return total == 0;
}
