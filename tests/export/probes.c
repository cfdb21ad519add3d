/* Passes probes, and prints what they should show. */
#include <stdint.h>
#include <stdio.h>
#include "simple_marker.h"

__attribute__((noinline)) static void integers(int8_t a, uint16_t b, int32_t c, uint64_t d, int e)
{
    simple_probe(probes:integers, "%hhd %hu %d %lu %d %ld", a, b, c, d, e, c * 3L - 1);
    printf("probes:integers %hhd %hu %d %lu %d %ld\n", a, b, c, d, e, c * 3L - 1);
}

static inline __attribute__((always_inline)) void text(const char *name, const char *rest)
{
    simple_probe(probes:text, "%s then %s", name, rest);
    printf("probes:text %s then %s\n", name, rest);
}

__attribute__((noinline)) static void here(const char *name) { text(name, "the rest"); }
__attribute__((noinline)) static void there(const char *name) { text(name, name + 1); }

__attribute__((noinline)) static void floats(double d, unsigned n)
{
    simple_probe(probes:floats, "%g of %u", d / 2, n);
    printf("probes:floats %g of %u\n", d / 2, n);
}

int main(void)
{
    integers(-128, 65535, INT32_MIN, UINT64_MAX, 0);
    integers(127, 0, INT32_MAX, 1, -1);
    integers(0, 1, 2, 3, 4);
    here("one");
    there("another");
    floats(-3, 7);
    return 0;
}
