// Scalars where optimisers put them: parameters and locals in registers, values that are only an expression, constants, clobbered
// parameters, callee-saved registers, floats, wide integers, thread-locals. `//~` says what each is (tests/rust/differential.rs).
#include "simple_marker.h"

#include <stdbool.h>
#include <stdint.h>

#ifdef __clang__
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE __attribute__((noinline, noclone))
#endif
#define OPAQUE(x) __asm__ volatile("" : "+r"(x))
#define KEEP(x) __asm__ volatile("" ::"r"(x) : "memory")
#ifdef __aarch64__
#define FLOATING(x) "+w"(x)
#elif defined(__riscv)
#define FLOATING(x) "+f"(x)
#else
#define FLOATING(x) "+x"(x)
#endif
#define USE(x) __asm__ volatile("" ::"m"(x) : "memory")

enum colour { RED = 1, GREEN = 5, BLUE = -7 };
typedef int (*function)(int);

static int global = 1234;
int external = -77;
static __thread int local = 55;
__thread long other = 66;

NOINLINE int clobber(int n) {
    OPAQUE(n);
    return n + 1;
}

NOINLINE int parameters(int a, unsigned char b, short c, unsigned long d, bool e, const char *f, int8_t g, uint16_t h) {
    simple_mark(registers:parameters, "%d %d %d %lu %d %s %d %d", a, b, c, d, e, f, g, h); //~ -3 200 -300 18446744073709551615 1 "text" -5 65000
    KEEP(a + b);
    return c + g + h + (int)d + e + f[0];
}

// What perf prints as 0: the value is only described as a computation.
NOINLINE int computed(int n) {
    int triple = n * 3;
    int shifted = n << 4;
    long mixed = (long)n * n - 7;
    simple_mark(registers:computed, "%d %d %ld %d", triple, shifted, mixed, n); //~ 9 48 2 3
    KEEP(n);
    return clobber(n);
}

NOINLINE int after_call(int n, int kept) {
    int before = n + 1;
    int result = clobber(n);
    simple_mark(registers:after_call, "%d %d %d", result, kept, before); //~ 12 20 12
    KEEP(result);
    return clobber(kept) + result;
}

// n is needed no more behind the first call: only as an entry value, or gone.
NOINLINE int entry_value(int n) {
    int m = clobber(4);
    simple_mark(registers:entry_value, "%d %d", n, m); //~ 11 5
    KEEP(m);
    return m;
}

NOINLINE int folded(void) {
    int five = 5;
    const unsigned wide = 0xfffffff0u;
    long negative = -9000000000L;
    enum colour colour = BLUE;
    bool yes = true;
    char letter = 'x';
    simple_mark(registers:folded, "%d %u %ld %d %d %c", five, wide, negative, colour, yes, letter); //~ 5 4294967280 -9000000000 -7 1 120
    KEEP(0);
    return five;
}

NOINLINE double floats(float single, double twice, double *out) {
    double product = twice * single;
    float quarter = single / 4;
    __asm__ volatile("" : FLOATING(product), FLOATING(quarter));
    simple_mark(registers:floats, "%f %f %f %f", single, twice, product, quarter); //~ 1.5 -2.25 -3.375 0.375
    KEEP(out);
    *out = product + quarter;
    return product;
}

NOINLINE double float_constant(void) {
    double half = 0.5;
    float third = 3.25f;
    simple_mark(registers:float_constant, "%f %f", half, third); //~ 0.5 3.25
    KEEP(0);
    return half + third;
}

NOINLINE long wide(__int128 value, long low) {
    unsigned __int128 square = (unsigned __int128)value * (unsigned long)low;
    simple_mark(registers:wide, "%ld", low); //~ 3
    simple_mark(registers:wider, "%p %p", value, square); //~ 73786976294838206464 221360928884514619392
    KEEP(low);
    return (long)(value >> 64) + (long)square;
}

NOINLINE int pointers(int *p, function f, void *v, int **pp) {
    simple_mark(registers:pointers, "%d %p %p %d %p", *p, f, v, **pp, p); //~ 41 _ _ 41 _
    KEEP(p);
    return f(*p) + (v == pp);
}

NOINLINE int callee_saved(int a, int b, int c, int d) {
    int e = clobber(a), f = clobber(b), g = clobber(c), h = clobber(d);
    simple_mark(registers:callee_saved, "%d %d %d %d %d", e, f, g, h, a); //~ 2 3 4 5 1
    KEEP(e);
    return clobber(e + f) + clobber(g + h) + a;
}

NOINLINE int loops(int n) {
    int sum = 0;
    for (int i = 0; i < n; i++) {
        simple_mark(registers:loop, "%d %d %d", i, sum, n); //~ 0|1|2|3 0|1|3|6 4
        KEEP(sum);
        sum += i;
        OPAQUE(sum);
    }
    simple_mark(registers:loop:done, "%d %d", sum, n); //~ 6 4
    KEEP(sum);
    return sum;
}

NOINLINE int statics(void) {
    static int counter = 10;
    counter++;
    simple_mark(registers:statics, "%d %d %d", counter, global, external); //~ 11|12 1234 -77
    KEEP(counter);
    USE(global);
    return counter + external;
}

NOINLINE int thread_locals(void) {
    local++;
    simple_mark(registers:thread_locals, "%d %ld", local, other); //~ 56|57 66
    KEEP(0);
    return local + (int)other;
}

NOINLINE int many(int a, int b, int c, int d, int e, int f, int g, int h, long i) {
    int sum = a + b + c + d + e + f + g + h;
    simple_mark(registers:stack, "%d %d %ld %d %d", g, h, i, f, sum); //~ 7 8 9 6 36
    KEEP(sum);
    return sum + (int)i;
}

NOINLINE int length(int n) {
    char array[n];
    for (int i = 0; i < n; i++)
        array[i] = (char)i;
    simple_mark(registers:vla, "%d %d", n, array[2]); //~ 6 2 ?
    USE(array);
    return array[n - 1];
}

NOINLINE unsigned flags(unsigned value) {
    unsigned low = value & 0xff, high = value >> 24;
    unsigned is_odd = value & 1;
    int compared = value > 100;
    simple_mark(registers:derived, "%u %u %u %d", low, high, is_odd, compared); //~ 239 222 1 1
    KEEP(value);
    return low + high + is_odd + compared;
}

int main(void) {
    int value = 41, *p = &value, total = 0;
    double out;
    // Else gcc does not store it: it sees that `pointers` has no use for what `pp` points at.
    KEEP(&p);
    for (int round = 0; round < 2; round++) {
        total += parameters(-3, 200, -300, -1ul, true, "text", -5, 65000);
        total += computed(3);
        total += after_call(11, 20);
        total += entry_value(11);
        total += folded();
        total += (int)floats(1.5f, -2.25, &out);
        total += (int)float_constant();
        total += (int)wide((__int128)4 << 64, 3);
        total += pointers(p, clobber, &p, &p);
        total += callee_saved(1, 2, 3, 4);
        total += loops(4);
        total += statics();
        total += thread_locals();
        total += many(1, 2, 3, 4, 5, 6, 7, 8, 9);
        total += length(6);
        total += (int)flags(0xdeadbeef);
    }
    return total == 0;
}
