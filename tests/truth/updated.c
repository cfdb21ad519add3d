/* The next assignment follows without an instruction between. */
#include <simple_marker.h>
#include <stdio.h>

#define NOINLINE __attribute__((noinline))

static NOINLINE unsigned long gcd(unsigned long a, unsigned long b)
{
    while (b) {
        unsigned long r = a % b;
        simple_mark(updated:gcd, "%lu %lu", a, b);
        a = b;
        b = r;
    }
    return a;
}

static NOINLINE unsigned sum(const unsigned *values, unsigned n)
{
    unsigned sum = 0;
    for (unsigned i = 0; i < n; i++) {
        sum += values[i];
        simple_mark(updated:loop, "%u %u", i, sum);
    }
    return sum;
}

struct node {
    unsigned v;
    struct node *next;
};

static NOINLINE unsigned walk(const struct node *l)
{
    unsigned sum = 0;
    while (l) {
        sum += l->v;
        simple_mark(updated:walk, "%u %u", l->v, sum);
        l = l->next;
    }
    return sum;
}

static NOINLINE int unrolled(int n)
{
    int sum = 0;
    for (int i = 0; i < 3; i++) {
        int x = n * i;
        sum ^= x;
        x = i + 3;
        simple_mark(updated:unrolled, "%d %d", i, x);
        x = -1;
        sum += x;
    }
    return sum;
}

int main(int count, char **words)
{
    unsigned values[7] = { 5, 3, 8, 1, 9, 2, 7 };
    struct node nodes[5];
    (void)words;
    for (int i = 0; i < 5; i++)
        nodes[i] = (struct node){ i * 10 + count, i < 4 ? &nodes[i + 1] : 0 };
    printf("%lu %u %u %d\n", gcd(84 * count, 36), sum(values, 6 + count), walk(nodes), unrolled(count));
    return 0;
}
