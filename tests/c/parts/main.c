// A program of several files, for header_matrix.rs: what is inlined, shared, dead and the same.
#include "inline.h"

extern int other(int a);
extern int first(int a);
extern int second(int a);
int dropped(int a);
int dropped_too(int a);
int same_one(int a);
int same_two(int a);

// Nothing calls it.
int dropped(int a) {
    simple_mark(parts:dropped, "%d", a);
    return halved(a) + dropped_too(a);
}

// Only what nothing calls does.
__attribute__((noinline)) int dropped_too(int a) {
    simple_mark(parts:dropped_too, "nothing");
    return a;
}

// The same code, but for the marker.
__attribute__((noinline)) int same_one(int a) {
    simple_mark(parts:same_one, "%d", a);
    return a * 17 + 5;
}

__attribute__((noinline)) int same_two(int a) {
    simple_mark(parts:same_two, "%d", a);
    return a * 17 + 5;
}

__attribute__((noinline)) static int count(int limit) {
    int sum = 0;
    for (int i = 0; i < limit; i++) {
        simple_mark(parts:loop, "%d of %d", i, limit);
        sum += other(i);
    }
    return sum;
}

int main(int argc, char **argv) {
    (void)argv;
    simple_mark(parts:begin, "%d", argc);
    int sum = halved(argc * 8) + other(argc) + first(argc) + second(argc) + count(argc * 4);
    sum += same_one(argc) - same_two(argc);
    simple_mark(parts:end, "%d", sum);
    return sum == 20 ? 0 : 1;
}
