// Functions with a probe each, which `tests/rust/asleep.rs` compares with the same functions
// without. As C and as C++.
#include <simple_marker.h>

#ifdef __cplusplus
#define PUBLIC extern "C" __attribute__((visibility("default")))
#else
#define PUBLIC __attribute__((visibility("default")))
#endif

PUBLIC int none(void) {
    simple_probe(asleep:none, "no argument");
    return 7;
}

PUBLIC int plain(int a, int b) {
    simple_probe(asleep:plain, "%d", a);
    return a * b;
}

PUBLIC long computed(long a, unsigned char b) {
    simple_probe(asleep:computed, "%ld %d %u", a * 3 + b, b - 1, (unsigned)b << 3);
    return a ^ b;
}

PUBLIC double floats(double x, float y) {
    simple_probe(asleep:floats, "%g %g %f", x, y, x * 0.5);
    return x * x;
}

PUBLIC int text(const char *name, int length) {
    simple_probe(asleep:text, "%s %d %s %p", name, length, "constant", (const void *)name);
    return length + 1;
}

PUBLIC int five(int a, int b, int c) {
    simple_probe(asleep:five, "%d %d %d %d %d", a, b, c, a - b, b - c);
    return a * b * c;
}

PUBLIC unsigned eight(unsigned a) {
    simple_probe(asleep:eight, "%u %u %u %u %u %u %u %u", a, a + 1, a * 3, a >> 3, a ^ 3, a & 5, a | 5, ~a);
    return a - 1;
}

PUBLIC void one_arm(long *last, long a, long b) {
    if (a > b) {
        simple_probe(asleep:one_arm, "%ld %ld", a ^ 5, last[1]);
        last[0] = a;
    }
}

PUBLIC int summed(const int *values, int count) {
    int sum = 0;
    for (int i = 0; i < count; i++) {
        sum = sum * 31 + values[i] * i;
        simple_probe(asleep:summed, "%d at %d", sum, i);
    }
    return sum;
}

struct node {
    struct node *next;
    unsigned long value;
    char name[8];
};

PUBLIC unsigned long followed(const struct node *list) {
    unsigned long sum = 0;
    for (; list; list = list->next) {
        simple_probe(asleep:followed, "%s, %lu so far", list->name, sum);
        sum = sum * 31 + list->value;
    }
    return sum;
}

static inline long shared(long value, long other) {
    simple_probe(asleep:shared, "%ld", value);
    return value ^ other;
}

// Three copies of one probe.
PUBLIC void copies(long *out, signed char a, int b, long c) {
    out[0] = shared(a, 1);
    out[1] = shared(b, c);
    out[2] = shared(c, 3);
}

PUBLIC long spanned(long a, unsigned char b) {
    simple_span(asleep:spanned, "%ld %d", a * 3 + b, b - 1);
    return a ^ b;
}

PUBLIC unsigned span_in_loop(unsigned sum) {
    do {
        simple_span(asleep:span_in_loop, "%u", sum);
        sum = sum * 31 + 5;
    } while (sum > 1000);
    return sum;
}

// The inner one ends first.
PUBLIC void nested(long *last, long a) {
    simple_span(asleep:outer, "%ld", a);
    last[0] = a;
    {
        simple_span(asleep:inner, "%ld", last[1]);
        last[1] = a;
    }
    last[2] = 9;
}
