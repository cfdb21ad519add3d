/* Values that are doubtful: computed, partly used, and of variables that change at the marker.
 * With PRINT, and without optimisation, the program says what they are. */
#include <simple_marker.h>
#include <stdio.h>

#ifdef PRINT
#define SAY(...) printf("at " __VA_ARGS__)
#else
#define SAY(...) (void)0
#endif

#define NOINLINE __attribute__((noinline))

static const char words[] = "nil\0one\0two\0six";
static volatile unsigned long seen;

static NOINLINE unsigned long mixed(unsigned long x, unsigned n)
{
    unsigned long sum = 0;
    for (unsigned i = n; i-- > 0;) {
        unsigned long h = x * 0x9e3779b9 + i * 21;
        const char *word = words + (h & 3) * 4;
        sum ^= h >> 3;
        simple_mark_anchor(doubt:mixed, "%lu %-12lu %s.", sum, h, word);
        SAY("doubt:mixed %lu %lu %s\n", sum, h, word);
        sum += *word;
        simple_mark_anchor(doubt:end, "%lu %lu", sum, h);
        SAY("doubt:end %lu %lu\n", sum, h);
    }
    return sum;
}

struct pair {
    const char *name;
    unsigned long value;
};

static NOINLINE unsigned long changing(struct pair *pairs, unsigned n)
{
    const char *name = "none";
    unsigned long value = 3;
    for (unsigned i = 0; i < n; i++) {
        seen = value + *name;
        name = pairs[i].name;
        value = pairs[i].value;
        simple_mark(doubt:changing, "%u %s %lu", i, name, value);
        SAY("doubt:changing %u %s %lu\n", i, name, value);
    }
    return value + *name;
}

static NOINLINE int replaced(int a, int b, const char *one, const char *other)
{
    int v = a;
    const char *text = one;
    seen = v + *text;
    simple_mark(doubt:replaced, "%04d %s", v, text);
    SAY("doubt:replaced %d %s\n", v, text);
    v = b;
    text = other;
    return v * 3 + *text;
}

int main(int count, char **arguments)
{
    (void)arguments;
    struct pair pairs[4] = { { "a", 1 }, { "b", 1 }, { "b", 2 }, { "c", 3 } };
    for (int i = 0; i < 3; i++)
        printf("%lu %lu %d\n", mixed(7 + i, 2 + count), changing(pairs, 3 + count),
            replaced(i + 4, i + 3 + count, pairs[i].name, pairs[i + count].name));
    printf("%d\n", replaced(5, 6, "it", "that"));
    return 0;
}
