// A marker is a statement, wherever a statement may stand.
// runs
#include "places.h"

int sink;

// expect: name=places:clamped format="%d over %d" args="value, limit" sites=1+
__attribute__((noinline)) static int twice(int a, int b) {
    return clamp(a, 10) + clamp(b, 20);
}

#define COUNTED(n)                                \
    do {                                          \
        simple_mark(places:in_macro, "%d", n);    \
        sink += n;                                \
    } while (0)

__attribute__((noinline)) static int branches(int a) {
    // expect: name=places:if format="%d" args="a" sites=1+
    // expect: name=places:else format="else" args="" sites=1+
    if (a > 3)
        simple_mark(places:if, "%d", a);
    else
        simple_mark(places:else, "else");
    switch (a) {
    case 1:
        // expect: name=places:case format="case" args="" sites=1+
        simple_mark(places:case, "case");
        break;
    default:
        // expect: name=places:default format="%d" args="a" sites=1+
        simple_mark(places:default, "%d", a);
    }
    // expect: name=places:for format="%d" args="i" sites=1+
    for (int i = 0; i < a; i++)
        simple_mark(places:for, "%d", i);
    goto out;
out:
    // expect: name=places:label format="after a label" args="" sites=1+
    simple_mark(places:label, "after a label");
    // The argument as it reaches simple_mark: n is COUNTED's own.
    // expect: name=places:in_macro format="%d" args="a" sites=1+
    COUNTED(a);
    return a;
}

__attribute__((noinline)) static void dead(int a) {
    // absent: places:dead
    if (0)
        simple_mark(places:dead, "%d", a);
    (void)a;
}

// Only a marker reads this: used all the same.
__attribute__((noinline)) static void only_marked(int a) {
    int doubled = a * 2;
    // expect: name=places:unused format="%d" args="doubled" sites=1+
    simple_mark(places:unused, "%d", doubled);
}

int main(int argc, char **argv) {
    (void)argv;
    dead(argc);
    only_marked(argc);
    // expect: name=places:same_line format="one" args="" sites=1
    // expect: name=places:same_line_too format="two" args="" sites=1
    simple_mark(places:same_line, "one"); simple_mark(places:same_line_too, "two");
    return twice(argc, argc) + branches(argc) == 3 ? 0 : 1;
}
