// The second file of names.c: a static function with the same name, and a type and a variable with the names of others.
#include "simple_marker.h"

#include <stdio.h>

#define OPAQUE(x) __asm__ volatile("" : "+r"(x))

typedef struct one_of_this_file { int member; } one_type;
static volatile int two_of_this_file;

__attribute__((noinline)) static int same(int x) {
    OPAQUE(x);
    simple_mark(names:same_second, "%d", x);
    printf("names:same_second %d\n", x);
    return x + 1;
}

int second(int x) {
    one_type one = {x};
    two_of_this_file = one.member;
    return same(x + 50) + two_of_this_file;
}
