// What a probe that is on gives the recorder: the first half of the descriptor, and the words.
// options: -DSIMPLE_MARKER_RECORDER
// runs
#include "simple_marker.h"

#include "armed.h"

#define RECORDER
#include "recorder.h"

#include <stdbool.h>

enum negative { MINUS = -1 };
enum positive { MANY = 2000000000 };

// `layout`: the words, the arguments, a bit for each text. The strings are one after the other.
static int is(int id, uint32_t layout, const char *name, const char *format, const char *args, const char *types) {
    const struct descriptor *probe = __start___simple_probe;
    while (probe < __stop___simple_probe && strcmp(probe->strings, name) != 0)
        probe++;
    if (probe == __stop___simple_probe || recorded[0] != ((uint64_t)layout << 32 | (uint64_t)id << 16))
        return 0;
    const char *expected[] = {name, __FILE__, 0, format, args, types};
    const char *string = probe->strings;
    for (int i = 0; i < 6; i++) {
        if (expected[i] && strcmp(string, expected[i]) != 0)
            return 0;
        string += strlen(string) + 1;
    }
    return probe->layout == layout && probe->semaphore == 0 && !probe->handler && !probe->reserved;
}

static uint64_t bits(double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

// expect: name=words:none format="none" args="" sites=1+ flags=5
__attribute__((noinline)) static void none(void) {
    simple_probe(words:none, "none");
}

// expect: name=words:integers format="%hhd %hhu %hd %hu %d %u %ld %lu" args="i8, u8, i16, u16, i32, u32, i64, u64" sites=1+ flags=7
__attribute__((noinline)) static void integers(signed char i8, unsigned char u8, short i16, unsigned short u16, int i32,
                                               unsigned u32, long i64, unsigned long u64) {
    simple_probe(words:integers, "%hhd %hhu %hd %hu %d %u %ld %lu", i8, u8, i16, u16, i32, u32, i64, u64);
}

// expect: name=words:others format="%d %d %u %f %f %p" args="b, e, (unsigned)p, f, d, v" sites=1+ flags=7
__attribute__((noinline)) static void others(bool b, enum negative e, enum positive p, float f, double d, void *v) {
    simple_probe(words:others, "%d %d %u %f %f %p", b, e, (unsigned)p, f, d, v);
}

// expect: name=words:texts format="%s %d %s %s" args="a, i, b, (unsigned char *)b" sites=1+ flags=7
__attribute__((noinline)) static void texts(const char *a, int i, char *b) {
    simple_probe(words:texts, "%s %d %s %s", a, i, b, (unsigned char *)b);
}

// A leaf function with values in its red zone, and text that only it can see.
// expect: name=words:leaf format="%s %ld" args="text, a" sites=1+ flags=7
__attribute__((noinline)) static long leaf(long a, const volatile long *b) {
    char text[4] = {(char)('a' + a), 'b', 0, 0};
    volatile long values[8] = {a, a + 1, a + 2, a + 3, a + 4, a + 5, a + 6, a + 7};
    long sum = *b;
    simple_probe(words:leaf, "%s %ld", text, a);
    for (int i = 0; i < 8; i++)
        sum += values[i];
    return sum;
}

// Twelve words, and values that live on.
// expect: name=words:twelve format="%s %d %s %d %s %d %s %d" args="t, a, t, b, t, c, t, d" sites=1+ flags=7
__attribute__((noinline)) static int twelve(int a, int b, int c, int d, int e, const char *t) {
    simple_probe(words:twelve, "%s %d %s %d %s %d %s %d", t, a, t, b, t, c, t, d);
    return a + 2 * b + 3 * c + 4 * d + 5 * e;
}

static int check(void) {
    const long one = 1;
    none();
    if (!is(7, 0, "words:none", "none", "", ""))
        return 1;
    integers(-1, 254, -3, 65531, -5, 4294967289u, -7, 18446744073709551607u);
    if (!is(7, 0x808, "words:integers", "%hhd %hhu %hd %hu %d %u %ld %lu", "i8, u8, i16, u16, i32, u32, i64, u64",
            "-4 4 -4 4 -4 4 -8 8"))
        return 2;
    if (recorded[1] != (uint64_t)-1 || recorded[2] != 254 || recorded[3] != (uint64_t)-3 || recorded[4] != 65531 ||
        recorded[5] != (uint64_t)-5 || recorded[6] != 4294967289u || recorded[7] != (uint64_t)-7 ||
        recorded[8] != (uint64_t)-9)
        return 3;
    others(true, MINUS, MANY, 1.5f, 2.5, &records);
    if (!is(7, 0x606, "words:others", "%d %d %u %f %f %p", "b, e, (unsigned)p, f, d, v", "4 -4 4 8f 8f 8p"))
        return 4;
    if (recorded[1] != 1 || recorded[2] != (uint64_t)-1 || recorded[3] != 2000000000 || recorded[4] != bits(1.5) ||
        recorded[5] != bits(2.5) || recorded[6] != (uintptr_t)&records)
        return 5;
    char other[] = "other";
    texts("text", 9, other);
    if (!is(7, 0xd0407, "words:texts", "%s %d %s %s", "a, i, b, (unsigned char *)b", "s -4 s s"))
        return 6;
    if (strcmp((const char *)recorded[1], "text") != 0 || recorded[2] != (uint64_t)-1 || recorded[3] != 9 ||
        recorded[4] != (uintptr_t)other || recorded[5] != (uint64_t)-1 || recorded[6] != (uintptr_t)other ||
        recorded[7] != (uint64_t)-1)
        return 7;
    if (leaf(2, &one) != 45 || recorded[3] != 2)
        return 8;
    if (twelve(1, 2, 3, 4, 5, other) != 55 ||
        !is(7, 0x55080c, "words:twelve", "%s %d %s %d %s %d %s %d", "t, a, t, b, t, c, t, d", "s -4 s -4 s -4 s -4"))
        return 9;
    for (int i = 0; i < 4; i++) {
        if (recorded[1 + 3 * i] != (uintptr_t)other || recorded[2 + 3 * i] != (uint64_t)-1 ||
            recorded[3 + 3 * i] != (uint64_t)(i + 1))
            return 10;
    }
    return records == 6 ? 0 : 11;
}

int main(void) {
    // The compiler must not know the arguments.
    int (*volatile run)(void) = check;
    arm(7);
    return run();
}
