/* Static probes of sys/sdt.h. Prints what a tool has to read at each. */
#define _SDT_HAS_SEMAPHORES 1
#include <stdio.h>
#include <string.h>
#include <sys/sdt.h>

#define SEMAPHORE(name) \
    unsigned short values_##name##_semaphore __attribute__((used, section(".probes")))
SEMAPHORE(numbers);
SEMAPHORE(memory);
SEMAPHORE(floats);
SEMAPHORE(many);
SEMAPHORE(symbols);
SEMAPHORE(constants);

struct item {
    char letter;
    short small;
    long wide;
};

static int total;
static __thread long own = 5;
long shared = 41;
static int words[8] = {3, -1, 4, -1, 5, -9, 2, -6};
static const char *title = "title";
static char text[8] = "text";
static double ratio = -0.125;
static float part = 2.5f;
static struct item items[4] = {{'a', -1, 10}, {'b', 2, -20}, {'c', -3, 30}, {'d', 4, -40}};

static __attribute__((noinline)) void numbers(signed char a, unsigned char b, short c, unsigned short d, int e,
                                              unsigned f, long g, unsigned long h)
{
    total += e;
    STAP_PROBE8(values, numbers, a, b, c, d, e, f, g, h);
    printf("numbers: arg0 %d, arg1 %u, arg2 %d, arg3 %u, arg4 %d, arg5 %u, arg6 %ld, arg7 %lu\n", a, b, c, d, e, f, g, h);
}

static __attribute__((noinline)) void memory(const struct item *item, int index)
{
    own += index;
    STAP_PROBE7(values, memory, item->small, items[index].wide, total, own, -7, item, index);
    printf("memory: arg0 %d, arg1 %ld, arg2 %d, arg3 %ld, arg4 -7, arg5 %lu, arg6 %d\n", item->small, items[index].wide,
           total, own, (unsigned long) item, index);
}

static __attribute__((noinline)) void floats(double a, float b)
{
    STAP_PROBE2(values, floats, a, b);
    printf("floats: arg0 %f, arg1 %f\n", a, b);
}

/* Operands that name a symbol, where the compiler takes them so. */
static __attribute__((noinline)) void symbols(int index)
{
    shared += index;
    words[2] -= index;
    ratio *= 2;
    part += index;
    text[0]++;
    STAP_PROBE8(values, symbols, shared, words[2], words[index], ratio, part, *title, text[0], items[1].wide);
    printf("symbols: arg0 %ld, arg1 %d, arg2 %d, arg3 %f, arg4 %f, arg5 %d, arg6 %d, arg7 %ld\n", shared, words[2], words[index],
           ratio, part, *title, text[0], items[1].wide);
}

/* A compiler may have a constant in memory. */
static __attribute__((noinline)) void constants(void)
{
    STAP_PROBE6(values, constants, -1, 5u, -5000000000L, 'x', 18446744073709551615UL, (short) -300);
    printf("constants: arg0 -1, arg1 5, arg2 -5000000000, arg3 120, arg4 18446744073709551615, arg5 -300\n");
}

/* Each copy is a site. */
static inline __attribute__((always_inline)) void many(long a)
{
    if (__builtin_expect(values_many_semaphore, 0)) {
        STAP_PROBE1(values, many, a);
        printf("many: arg0 %ld\n", a);
    }
}

int main(int argc, char **argv)
{
    (void) argv;
    for (int i = 0; i < 4; i++) {
        numbers(-i - argc, 200 + i, -300 * i, 60000 + i, -70000 * i, 4000000000u + i, -5000000000L * i, -1UL - i);
        memory(&items[i], 3 - i);
        floats(1.5 * i + argc, -0.25f * i);
        symbols(i);
        constants();
        many(i);
        many(-i);
    }
    return 0;
}
