// A probe evaluates its arguments if its switch is on, once each, from left to right.
// runs
#include "simple_marker.h"

#include "armed.h"

static int calls;
__attribute__((noinline)) static int count(void) {
    return ++calls;
}

// expect: name=probe:none format="100%% {x|y}" args="" sites=1+ flags=5 operands=^$
__attribute__((noinline)) static int none(int a) {
    simple_probe(probe:none, "100%% {x|y}");
    return a;
}

// expect: name=probe:two format="%d %d" args="count(), count()" sites=1+ flags=7 operands=^-4@\S+ -4@\S+$
// values: probe:two 1 2
__attribute__((noinline)) static int two(int a) {
    simple_probe(probe:two, "%d %d", count(), count());
    return a;
}

// expect: name=probe:mixed format="%hhd %u %ld %f %f %p %s" args="i8, u16, i64, f, d, (void *)p, s" sites=1+ flags=7 operands=^-4@\S+ 4@\S+ -[48]@\S+ [48]f@\S+ 8f@\S+ [48]@\S+ [48]@\S+$
// values: probe:mixed -1 2 -3 4 5 * "text"
__attribute__((noinline)) static int mixed(signed char i8, unsigned short u16, long i64, float f, double d, int *p,
                                           const char *s) {
    simple_probe(probe:mixed, "%hhd %u %ld %f %f %p %s", i8, u16, i64, f, d, (void *)p, s);
    return *p;
}

// One switch for all copies of the loop's body.
// expect: name=probe:loop format="%d" args="(calls += n, i)" sites=1+ flags=7
// values: probe:loop 0
// values: probe:loop 1
// values: probe:loop 2
// values: probe:loop 3
__attribute__((noinline)) static int loop(int n) {
    int sum = 0;
    for (int i = 0; i < n; i++) {
        sum += i;
        simple_probe(probe:loop, "%d", (calls += n, i));
    }
    return sum;
}

int main(void) {
    int value = 3;
    if (probes() != 4)
        return 1;
    if (none(1) != 1 || two(2) != 2 || mixed(-1, 2, -3, 4, 5, &value, "text") != 3 || loop(4) != 6 || calls != 0)
        return 2;
    arm(1);
    if (none(1) != 1 || two(2) != 2 || mixed(-1, 2, -3, 4, 5, &value, "text") != 3 || calls != 2)
        return 3;
    if (loop(4) != 6 || calls != 18)
        return 4;
    arm(0);
    return two(2) + loop(4) == 8 && calls == 18 ? 0 : 5;
}
