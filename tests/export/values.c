// Values wherever a compiler puts them, for consumers to read: each marker is followed by a line that says the same with the program's own
// printf, so what a consumer read must be what stands there (tests/rust/export.rs).
#include "simple_marker.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef __clang__
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE __attribute__((noinline, noclone))
#endif
#define OPAQUE(x) __asm__ volatile("" : "+r"(x))

// The marker, and what is true there.
#define MARK(name, format, ...)                     \
    do {                                            \
        simple_mark(name, format, __VA_ARGS__);     \
        printf(#name " " format "\n", __VA_ARGS__); \
    } while (0)

struct request {
    uint64_t tag;
    int32_t status;
    uint16_t attempts;
    int8_t delta;
    bool write;
    unsigned low : 3, middle : 7, high : 22;
    int level : 4;
    const char *name;
    char label[12];
    struct request *next;
    double ratio;
};

enum colour { RED = 1, GREEN = 5, BLUE = -7 };

static int counter = 1234;
long totals[4] = {11, -22, 33, -44};
static __thread int local = 55;

NOINLINE static void registers(int8_t a, uint8_t b, int16_t c, uint32_t d, int64_t e, unsigned long f) {
    OPAQUE(a);
    MARK(values:registers, "%d %u %d %u %ld %#lx", a, b, c, d, e, f);
}

NOINLINE static void members(struct request *r, enum colour colour) {
    OPAQUE(r);
    OPAQUE(colour);
    MARK(values:members, "%lu %d %u %d %d %lu %d", r->tag, r->status, r->attempts, r->delta, r->write, r->next->tag, colour);
}

NOINLINE static void bits(struct request *r) {
    OPAQUE(r);
    MARK(values:bits, "%u %u %u %d", r->low, r->middle, r->high, r->level);
}

NOINLINE static void globals(int round) {
    counter += round;
    totals[1] -= round;
    MARK(values:globals, "%d %ld %d", counter, totals[1], round);
}

NOINLINE static void text(struct request *r, const char *name) {
    OPAQUE(name);
    MARK(values:text, "%s then %s", name, r->name);
}

NOINLINE static void label(struct request *r) {
    char buffer[16];
    snprintf(buffer, sizeof buffer, "n%lu", (unsigned long)r->tag);
    OPAQUE(r);
    MARK(values:label, "[%s] [%s]", r->label, buffer);
}

NOINLINE static void stack(int n) {
    volatile int here = n - 100;
    volatile unsigned char small = (unsigned char)n;
    MARK(values:stack, "%d %u", here, small);
}

NOINLINE static void floats(double d, float f, struct request *r) {
    MARK(values:floats, "%.3f %.2f %.1f", d, f, r->ratio);
}

NOINLINE static int sink(int n) {
    OPAQUE(n);
    return n + 1;
}

// The values are nowhere: they are described as computations, and the program computes them by another way.
NOINLINE static void computed(int n) {
    int triple = n * 3;
    long mixed = (long)n * 16 - 7;
    simple_mark(values:computed, "%d %ld", triple, mixed);
    int again = n;
    OPAQUE(again);
    printf("values:computed %d %ld\n", again + again + again, (long)again * 16 - 7);
    sink(n);
}

NOINLINE static void constant(void) {
    int answer = 42;
    simple_mark(values:constant, "%d %s", answer, "text");
    puts("values:constant 42 text");
}

NOINLINE static void quoted(int n) {
    OPAQUE(n);
    MARK(values:quoted, "\"%d%%\" of `$HOME` \\ 'all'\t;", n);
}

NOINLINE static void pointer(void *p, int n) {
    OPAQUE(p);
    MARK(values:pointer, "%p %x %o", p, n, n);
}

NOINLINE static void thread(int n) {
    local += n;
    MARK(values:thread, "%d", local);
}

NOINLINE static void padded(int n, const char *name) {
    OPAQUE(n);
    MARK(values:padded, "[%5d] [%-5d] [%05d] [%8s] %c", n, n, n, name, n);
}

static inline __attribute__((always_inline)) void copied(int n) {
    OPAQUE(n);
    MARK(values:copied, "%d", n);
}

NOINLINE static int copies(int n) {
    copied(n + 1);
    sink(n);
    copied(n + 2);
    return n;
}

// Two ways lead to the address of the marker in the branch: a probe there fires more often than it is passed.
NOINLINE static int shared(int n, int *p) {
    if (n > 1) {
        n = sink(n);
        simple_mark(values:shared, "%d", n);
    }
    p[0] = n;
    return n;
}

int main(int argc, char **argv) {
    (void)argv;
    struct request second = {.tag = 77, .name = "second", .label = "sec"};
    struct request first = {
        .status = -5, .attempts = 65000, .delta = -3, .write = true, .low = 5, .middle = 100, .high = 4000000, .level = -6,
        .name = "first one", .label = "label", .next = &second, .ratio = 0.5,
    };
    int room = 0;
    for (int round = 1; round <= 3; round++) {
        first.tag = 18446744073709551000u + (unsigned)round;
        first.ratio += round;
        registers((int8_t)-round, (uint8_t)(250 + round), (int16_t)(-300 * round), 4000000000u + (unsigned)round, -round, ~0ul - (unsigned)round);
        members(&first, round == 1 ? RED : round == 2 ? GREEN : BLUE);
        bits(&first);
        globals(round);
        text(&first, round == 2 ? "a \"b\" c" : "plain");
        label(&second);
        stack(round);
        floats(1.5 * round, 0.25f * (float)round, &first);
        computed(round);
        constant();
        quoted(round);
        pointer((void *)(uintptr_t)(0x1000 + round), round + 100);
        thread(round);
        padded(round + 64, "name");
        room += copies(round * 10);
        room += shared(round * argc, &room);
    }
    return room == 0;
}
