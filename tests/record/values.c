// Values of every size and kind in memory, where they can be read at every marker (tests/rust/record.rs).
#include "simple_marker.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct all {
    int8_t i8;
    uint8_t u8;
    int16_t i16;
    uint16_t u16;
    int32_t i32;
    uint32_t u32;
    int64_t i64;
    uint64_t u64;
    float f32;
    double f64;
    void *pointer;
    const char *text, *other;
};

#define NOINLINE __attribute__((noinline))
#define CHANGED(x) __asm__ volatile("" : : "r"(x) : "memory")

NOINLINE static void integers(struct all *a) {
    simple_mark_anchor(values:integers, "%hhd %hhu %hd %hu %d %u %ld %lu", a->i8, a->u8, a->i16, a->u16, a->i32, a->u32, a->i64, a->u64);
    CHANGED(a);
}

NOINLINE static void floats(struct all *a) {
    simple_mark_anchor(values:floats, "%f %g %p", a->f32, a->f64, a->pointer);
    CHANGED(a);
}

NOINLINE static void texts(struct all *a) {
    simple_mark_anchor(values:texts, "%s and %s", a->text, a->other);
    CHANGED(a);
}

NOINLINE static void nothing(struct all *a) {
    simple_mark_anchor(values:nothing, "no arguments");
    CHANGED(a);
}

static inline __attribute__((always_inline)) void copied(struct all *a) {
    simple_mark_anchor(values:copied, "%u", a->u32);
    CHANGED(a);
}

NOINLINE static void copies(struct all *a) {
    copied(a);
    a->u32++;
    copied(a);
}

int main(int argc, char **argv) {
    static char large[1000];
    for (unsigned i = 0; i < sizeof large - 1; i++)
        large[i] = (char)('a' + i % 26);
    const char *const texts_of[] = {
        "plain", "", "a \"quoted\" \\ text, { with } = braces", "tab\tand\nline", "gr\xc3\xbc\xc3\x9f dich \xe2\x82\xac", "not \xff UTF-8", NULL, large, (char *)16,
    };
    const unsigned count = sizeof texts_of / sizeof *texts_of;
    const unsigned rounds = argc > 1 ? (unsigned)atoi(argv[1]) : 100;
    const unsigned pause = argc > 2 ? (unsigned)atoi(argv[2]) : 0;
    struct all a = {0};
    for (unsigned round = 0; round < rounds; round++) {
        // A linear congruential generator (Knuth): the high bits are good.
        static uint64_t random = 1;
        random = random * 6364136223846793005u + 1442695040888963407u;
        a.i64 = (int64_t)random >> (round % 64);
        a.u64 = random >> (round % 64);
        a.i32 = (int32_t)a.i64, a.u32 = (uint32_t)a.u64;
        a.i16 = (int16_t)a.i64, a.u16 = (uint16_t)a.u64;
        a.i8 = (int8_t)a.i64, a.u8 = (uint8_t)a.u64;
        a.f64 = (double)a.i64 / 65536, a.f32 = (float)a.i32 / 256;
        a.pointer = (void *)(uintptr_t)a.u64;
        a.text = texts_of[round % count], a.other = texts_of[round / count % count];
        CHANGED(&a);
        integers(&a);
        floats(&a);
        texts(&a);
        nothing(&a);
        copies(&a);
        if (pause)
            usleep(pause);
    }
    return 0;
}
