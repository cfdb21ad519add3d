/* What looks like a wrong value, and is right. */
#include <simple_marker.h>
#include <stdio.h>

#define NOINLINE __attribute__((noinline))

#if defined __clang__
#define IPA_RA
#else
#define IPA_RA __attribute__((optimize("ipa-ra")))
#endif

/* The function is inlined, and its parameter is lost. That cannot point to a variable of the function. */
static inline unsigned best(const unsigned *a, unsigned n, unsigned *place)
{
    unsigned length = 0, found = 0;
    n -= *a++;
    n -= *a++ & 3;
    simple_mark(believed:length, "%u", length); //= length: clang
    for (unsigned i = 0; i < n; i++)
        if (a[i] > length) {
            length = a[i];
            found = i;
        }
    *place = found;
    return length;
}

static NOINLINE unsigned search(const unsigned *a, unsigned n)
{
    unsigned place = 7;
    unsigned length = best(a, n, &place);
    return length * 16 + place;
}

struct pair {
    long a, b;
};

static long passes, last;

static NOINLINE IPA_RA void pass(void)
{
    passes++;
}

/* gcc knows that the call leaves the registers of p alone. */
NOINLINE IPA_RA long joined(struct pair p, int c)
{
    if (c == 3)
        pass();
    last = c;
    simple_mark(believed:joined, "%ld %ld", p.a, p.b); //= p.a: gcc
    return c + 1;
}

int main(int count, char **words)
{
    unsigned a[16] = { 4, 5, 1, 2, 7, 5 };
    (void)words;
    printf("%u\n", search(a, 11 + count));
    printf("%ld\n", joined((struct pair){ 8, 9 }, 3) + joined((struct pair){ 6, 7 }, 4) + passes + last);
    return 0;
}
