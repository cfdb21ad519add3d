/* What the compiler describes as a computation, and gets wrong. */
#include <simple_marker.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define NOINLINE __attribute__((noinline))

static NOINLINE uint8_t narrowed(uint64_t x)
{
    uint64_t h = x * 0x9e3779b97f4a7c15u;
    simple_mark(computed:narrowed, "%lu", h);
    return (uint8_t)h;
}

static NOINLINE uint32_t shifted(uint16_t x, uint32_t y)
{
    int16_t z = (int16_t)x >> 3;
    simple_mark(computed:shifted, "%hd", z);
    return (z & 0xff) + y;
}

static NOINLINE unsigned boolean(unsigned flags, unsigned y)
{
    bool is_set = (flags >> 4) & 1;
    simple_mark(computed:boolean, "%d", is_set);
    return is_set ? y : y * 3;
}

static NOINLINE unsigned negated(bool flag, unsigned y)
{
    bool other = flag ^ (y & 1);
    simple_mark(computed:negated, "%d", other);
    return other ? y : y + 1;
}

static NOINLINE uint64_t tail(uint32_t n, uint64_t acc)
{
    simple_mark(computed:tail, "%u %lu", n, acc); //~ n: gcc
    if (n == 0)
        return acc;
    return tail(n - 1, acc * n);
}

static NOINLINE void induction(uint32_t n, uint32_t *out)
{
    uint32_t i = 0;
    while (i < n) {
        out[i & 7] += i * 3;
        i += 1;
        simple_mark(computed:induction, "%u", i);
    }
}

/* The register counts from n to 1, and is described as i, which counts from n - 1 to 0. */
static NOINLINE uint64_t countdown(uint64_t used, uint32_t n)
{
    for (uint64_t i = n & 15; i-- > 0;) {
        used = used * 31 + n;
        simple_mark(computed:countdown, "%lu", i); //? i: clang other_offset
        used ^= used >> 7;
    }
    return used;
}

/* The loop leaves before the step, and the register of m is a step ahead behind it. */
static NOINLINE unsigned ahead(const unsigned *count, unsigned *last)
{
    unsigned m = *last, largest = 0;
    while (!count[m])
        m--;
    *last = m;
    simple_mark(computed:ahead, "%u", m); //? m: clang step_ahead
    for (unsigned i = 0; i <= m; i++)
        largest += count[i] * i;
    return largest;
}

/* The result is computed in the loop, so nothing takes the last step back. */
static NOINLINE unsigned kept(const unsigned *count, unsigned m)
{
    while (!count[m])
        m--;
    simple_mark(computed:kept, "%u", m); //? m: clang step_ahead
    return m * 3;
}

/* Only the lower half of v is used, which is 0. */
static NOINLINE unsigned high(uint32_t b, unsigned n)
{
    uint64_t v = (uint64_t)b << 32;
    simple_mark(computed:high, "%lu", v); //~ v: clang
    return (uint32_t)v + n;
}

/* Only the lower byte of h is used, which is that of y. */
static NOINLINE unsigned lower(uint32_t x, uint32_t y)
{
    uint32_t h = (x << 8) + y;
    simple_mark(computed:lower, "%u", h); //~ h: clang
    return (uint8_t)h + y * 3;
}

int main(int count, char **words)
{
    uint32_t out[8] = { 0 }, counts[8] = { 1, 1 }, last = 6;
    (void)words;
    printf("%u %u %u\n", ahead(counts, &last), last, kept(counts, 6));
    induction(6 + count, out);
    printf("%u %u %u %lu %lu %u %u\n", narrowed(count + 1), shifted(0xfff0 + count, count), boolean(0x110 + count, count) + negated(count, count + 1),
           (unsigned long)tail(5 + count, 1), (unsigned long)countdown(count, 5 + count), high(count, count + 7) + lower(count, count + 3), out[3]);
    return 0;
}
