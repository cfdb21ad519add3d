// What simple_mark_keep keeps: each argument once, in its own width, with its sign.
// only: C
// runs
#include "simple_marker.h"

#include <stdbool.h>
#include <stdint.h>

enum plain { ONE = 1 };
enum negative { MINUS = -1 };
struct pair {
    int first;
    char name[8];
};

static int calls;
__attribute__((noinline)) static int count(void) {
    return ++calls;
}

// expect: name=keep:integers format="%hhd %hhu %hd %hu %d %u %lld %llu" args="i8, u8, i16, u16, i32, u32, i64, u64" sites=1+ flags=2 operands=^-1@\S+ 1@\S+ -2@\S+ 2@\S+ -4@\S+ 4@\S+ -8@\S+ 8@\S+$
// values: keep:integers -1 2 -3 4 -5 6 -7 8
__attribute__((noinline)) static void integers(signed char i8, unsigned char u8, short i16, unsigned short u16, int i32,
                                               unsigned u32, long long i64, unsigned long long u64) {
    simple_mark_keep(keep:integers, "%hhd %hhu %hd %hu %d %u %lld %llu", i8, u8, i16, u16, i32, u32, i64, u64);
}

// expect: name=keep:others format="%d %u %d %p %s %s" args="b, e, n, (void *)p, p->name, calls ? p->name : 0" sites=1+ flags=2 operands=^1@\S+ 4@\S+ -4@\S+ [48]@\S+ [48]@\S+ [48]@\S+$
// values: keep:others 1 1 -1 * "name" 0
__attribute__((noinline)) static void others(bool b, enum plain e, enum negative n, struct pair *p) {
    simple_mark_keep(keep:others, "%d %u %d %p %s %s", b, e, n, (void *)p, p->name, calls ? p->name : 0);
}

// expect: name=keep:floats format="%f %f %d" args="f, d, i" sites=1+ flags=2 operands=^4f@\S+ 8f@\S+ -4@\S+$
// values: keep:floats 1.5 2.5 3
__attribute__((noinline)) static void floats(float f, double d, int i) {
    simple_mark_keep(keep:floats, "%f %f %d", f, d, i);
}

__attribute__((noinline)) static int once(void) {
    int before = calls;
    // expect: name=keep:once format="%d" args="count()" sites=1 flags=2 operands=^-4@\S+$
    // values: keep:once 1
    simple_mark_keep(keep:once, "%d", count());
    // expect: name=keep:anchored format="%d 100%% {x|y}" args="count()" sites=1 flags=3 operands=^-4@\S+$
    // values: keep:anchored 2
    simple_mark_keep_anchor(keep:anchored, "%d 100%% {x|y}", count());
    // A second no-operation, on x86-64, changes nothing.
    // expect: name=keep:fast format="%d" args="calls + 1" sites=1 flags=3 operands=^-4@\S+$
    // values: keep:fast 3
    simple_mark_keep_anchor_fast(keep:fast, "%d", calls + 1);
    // expect: name=keep:fast_place format="%d" args="before" sites=1 flags=1
    simple_mark_anchor_fast(keep:fast_place, "%d", before);
    // Not evaluated.
    // expect: name=keep:not format="%d" args="count()" sites=1 flags=0
    simple_mark(keep:not, "%d", count());
    return calls - before;
}

__attribute__((noinline)) static int lines(const volatile int *device) {
    const int value = *device;
    // Arguments with side effects, qualifiers and commas.
    // expect: name=keep:volatile format="%d %d %d" args="*device, value, (calls++, calls)" sites=1 operands=^-4@\S+ -4@\S+ -4@\S+$
    // values: keep:volatile 1 1 3
    simple_mark_keep(keep:volatile, "%d %d %d", *device, value, (calls++, calls));
    // expect: name=keep:constant format="%d %s" args="-5, \"text\"" sites=1 operands=^-4@\S+ [48]@\S+$
    // values: keep:constant -5 "text"
    simple_mark_keep(keep:constant, "%d %s", -5, "text");
    return calls;
}

int main(void) {
    struct pair pair = {1, "name"};
    integers(-1, 2, -3, 4, -5, 6, -7, 8);
    others(true, ONE, MINUS, &pair);
    floats(1.5f, 2.5, 3);
    if (once() != 2)
        return 1;
    return lines(&pair.first) == 3 ? 0 : 2;
}
