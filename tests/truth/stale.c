/* The assignments are computed after the marker, and the location of the old value goes on. */
#include <simple_marker.h>
#include <stdint.h>
#include <stdio.h>

static inline uint64_t sunk(int32_t a, uint16_t b, int64_t c)
{
    if ((uint8_t)15 < (uint8_t)a) {
        uint32_t i = 0;
        while (i < 3)
            i = i + 1;
        if ((c >> 61) == 1)
            return c;
        b = b + b / 18;
        b = b + b / 18;
        simple_mark(stale:sunk, "%hu", b); //~ b: clang
    }
    return b;
}

/* The loop does not use m, so m is assigned behind it, in the register of the old value. */
static __attribute__((noinline)) unsigned clamped(const unsigned *stats, unsigned log, unsigned m)
{
    unsigned most;
    if (log > m)
        return 1;
    if (log <= 11 && m > 11)
        m = 11;
    simple_mark(stale:clamped, "%u", m); //? m: clang assigned_late
    for (most = log; !stats[most]; most--)
        ;
    return m * most;
}

/* The recursion becomes a loop, and the location of the first call goes on. */
static __attribute__((noinline)) int recursive(int depth)
{
    int local = depth * 2;
    simple_mark(stale:recursive, "%d %d", depth, local); //~ depth: gcc
    if (depth > 0)
        return recursive(depth - 1);
    return local;
}

/* gcc makes a copy of the function for n = 5, and a loop of its calls. */
static __attribute__((noinline)) uint64_t counted(uint32_t n, uint64_t a)
{
    simple_mark(stale:counted, "%u", n);
    if (n == 0)
        return a;
    return counted(n - 1, a * 3 + n);
}

#if defined __clang__
#define UNTRACKED
#else
#define UNTRACKED __attribute__((optimize("no-var-tracking")))
#endif

/* gcc does not track where the variables are, as in a very large function. */
static __attribute__((noinline)) UNTRACKED uint32_t untracked(uint32_t a, uint32_t n)
{
    uint32_t b = a * 3;
    for (uint32_t i = 0; i < n; i++)
        b = b * 31 + i;
    uint32_t c = b ^ a;
    c += printf("%u\n", c);
    simple_mark(stale:untracked, "%u", a); //? a: gcc not_tracked
    return c * 3;
}

static const uint32_t powers[] = { 1, 10, 100, 1000, 10000 };

/* bits is computed only in the branch that uses it. gcc describes that register for all of the function. */
static __attribute__((noinline)) uint64_t branch(const unsigned char *p, uint32_t radix)
{
    uint64_t v = 0;
    int bits = 32 - __builtin_clz(radix - 1);
    if (radix == 10) {
        for (int i = 0; p[i]; i++) {
            uint64_t h = powers[i] * (uint64_t)p[i];
            simple_mark(stale:branch, "%d", bits); //? bits: gcc not_tracked
            v += h ^ (v >> 7);
        }
    } else {
        for (int i = 0; p[i]; i++) {
            v |= (uint64_t)p[i] << (i * bits & 63);
            if (i * bits > 64)
                v ^= bits;
        }
    }
    return v;
}

static uint64_t state = 1;

static __attribute__((noinline)) uint64_t next(void)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return state >> 33;
}

/* The loop does not read d. Its first value stays described in every iteration. */
static __attribute__((noinline)) uint32_t first(uint32_t used, uint32_t n)
{
    uint32_t d = 12;
    while (n-- > 0) {
        used += n;
        simple_mark(stale:first, "%u", d);
        d = used *= 31;
    }
    return d;
}

struct pair {
    long a, b;
};

static int last;

/* The call overwrites the registers of p. gcc describes p in them where both ways join. */
__attribute__((noinline)) int joined(struct pair p, int c)
{
    if (c == 3)
        putchar('3');
    last = c;
    simple_mark(stale:joined, "%ld %ld", p.a, p.b); //? p.a: gcc overwritten
    return c + 1;
}

int main(int count, char **words)
{
    uint64_t result = 0;
    (void)words;
    for (int i = 0; i < 20 * count; i++) {
        int32_t a = next();
        uint16_t b = next();
        int64_t c = next();
        result = result * 31 + sunk(a, b, c);
    }
    result += counted(5, count) + counted(5, count + 1) + first(count, 3) + first(count, 5);
    result += untracked(count, 5) + clamped((unsigned[16]){ 1, 1, 3, 2 }, 3 + count, 11 + count);
    unsigned char digits[] = { 3, 4, count + 4, 0 };
    result += branch(digits, count * 2 + 8) + branch(digits, count * 2 + 14);
    result += joined((struct pair){ 8, 9 }, 3) + joined((struct pair){ 8, 9 }, 4) + last;
    printf("%lu %d\n", (unsigned long)result, recursive(4 + count));
    return 0;
}
