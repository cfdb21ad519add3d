/* Passes probes with arguments of each kind, and prints what they should show. Its constructor does so before `main`. */
#include <stdio.h>
#include <stdint.h>
#include <string.h>
#include "simple_marker.h"

enum colour { RED, GREEN = 7 };

__attribute__((noinline)) static void integers(int8_t a, uint16_t b, int32_t c, uint64_t d, _Bool e, enum colour f)
{
    simple_probe(values:integers, "%hhd %hu %d %lu %d %d %ld", a, b, c, d, e, f, c * 3L - 1);
    printf("values:integers: %hhd %hu %d %lu %d %d %ld\n", a, b, c, d, e, f, c * 3L - 1);
}

__attribute__((noinline)) static void others(const char *text, float narrow, double wide, void *pointer)
{
    simple_probe(values:others, "%s %g %g %g %p %lu", text, narrow, wide, wide / 3, pointer, text ? strlen(text) : 0);
    printf("values:others: %s %g %g %g %p %lu\n", text ? text : "(null)", narrow, wide, wide / 3, pointer,
        text ? strlen(text) : 0);
}

__attribute__((noinline)) static void none(void)
{
    simple_probe(values:none, "nothing to say");
    printf("values:none: nothing to say\n");
}

__attribute__((constructor)) static void before_main(void)
{
    integers(-128, 1, INT32_MAX, 1ul << 63, 0, RED);
}

int main(void)
{
    integers(127, 65535, INT32_MIN, ~0ul, 1, GREEN);
    others("text \xc3\xa9", 0.5f, -1e300, main);
    others("", 3, 0, 0);
    others(0, 1e-3f, 1.0 / 3, &main);
    none();
    return 0;
}
