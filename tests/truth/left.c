/* What no rule finds: the compiler drops or forgets an assignment, and the code has no trace of it. */
#include <simple_marker.h>
#include <stdint.h>
#include <stdio.h>

#define NOINLINE __attribute__((noinline))

/* The assignment is merged with the next use. The first value stays described. */
static NOINLINE uint64_t merged(uint64_t used, uint64_t c)
{
    uint64_t d = 37;
    used = used * 31 + d;
    d -= c;
    simple_mark(left:merged, "%lu", d); //~ d: clang
    return used * 31 + d;
}

/* The assignment in the branch is dropped, because a is not used again. */
static NOINLINE int joined(int a, int b)
{
    int used = b * 31 + a;
    if (b & 1) {
        used = used * 31 + a;
        a ^= a;
    }
    simple_mark(left:joined, "%d", a); //~ a: clang
    return used;
}

/* The recursion becomes a loop. The last parameter has no register in it. */
static NOINLINE int64_t reached(uint32_t n, uint32_t a, int64_t b)
{
    uint64_t used = 0;
    simple_mark(left:reached, "%u %ld %u", n, b, a); //~ b: gcc
    if (n == 0)
        return (int)(b + used);
    used = used * 31 + a;
    a = a - a * n;
    return reached(n - 1, a, (int64_t)used);
}

/* b is described in the register of a, which holds next by then. */
static NOINLINE uint32_t copied(uint32_t used, uint32_t a, uint32_t n)
{
    if (n & 1) {
        uint32_t next = a * 3;
        used += n;
        uint32_t b = a;
        simple_mark(left:copied, "%u", b); //~ b: gcc
        used *= 31;
        a = next;
    }
    return used + a;
}

/* The loop does not read d. It is described in the register of its second value from the start. */
static NOINLINE uint32_t second(uint32_t used, uint32_t n)
{
    uint32_t d = 12;
    do {
        used += n;
        simple_mark(left:second, "%u", d); //~ d: clang
        d = used *= 31;
    } while (n-- > 0);
    return d;
}

/* Only the lowest bit of a is used, which does not change. So a stays in its register. */
static NOINLINE uint32_t masked(uint32_t used, uint32_t a, uint32_t b)
{
    a ^= 2;
    used *= 31;
    simple_mark(left:masked, "%u", a); //~ a: clang
    used ^= used >> 7;
    return used + (a * b & 1);
}

/* The recursion for n = 5 becomes a loop. n is described as 5 in all of its iterations. */
static inline uint32_t counted(uint32_t n, uint32_t a)
{
    if (n == 0)
        return a;
    if (a & 1) {
        a += 3;
        simple_mark(left:counted, "%u", n); //~ n: gcc
        a *= 5;
    }
    return counted(n - 1, a * 31 + n);
}

struct object {
    uint32_t field;
};

/* The field gets its old value back, so no instruction stores either. It is read later. */
static inline uint32_t put_back(struct object *restrict s, uint32_t other)
{
    uint32_t old = s->field;
    s->field = other;
    simple_mark(left:restored, "%u", s->field); //~ s->field: clang
    s->field = old;
    return old * other;
}

static NOINLINE uint32_t restored(struct object *s, uint32_t other)
{
    return put_back(s, other) + 3;
}

struct pair {
    uint64_t count;
    _Bool flag;
};

/* The loop is unrolled. In its second copy i is described as in the first one. */
static NOINLINE void unrolled(struct pair *restrict p)
{
    for (uint32_t i = 2; i-- > 0;) {
        if (((i ^ 43) & 3) == 3)
            p->flag = 0;
        simple_mark(left:unrolled, "%u", i); //~ i: clang
        p->count = 0;
    }
}

static void convert(uint64_t m, int e, uint64_t *d, int *p)
{
    uint64_t h = m * 0x9e3779b97f4a7c15u >> 3;
    if (h >> 60) {
        h /= 10;
        e++;
    }
    *d = h;
    *p = -e * 5;
}

/* The function is inlined, and its store through the pointer is not described. */
static NOINLINE int out(uint64_t m, int e)
{
    int exp = 0, n = 0;
    uint64_t d = 1;
    if (m == 0)
        return 7;
    convert(m, e, &d, &exp);
    simple_mark(left:out, "%d", exp); //? exp: clang written_inlined
    while (d) {
        d /= 10;
        n++;
    }
    return n + exp;
}

struct node {
    struct node *prior, *next;
    int stop, more;
};

static NOINLINE int say(int of)
{
    return printf("%d\n", of);
}

/* n is incremented at the end of the loop, where it gets another register. The old one is described before. */
static NOINLINE void linked(struct node *p, int most)
{
    struct node *next = 0, *first = p;
    int n = 1;
    while (1) {
        p->next = next;
        next = p;
        p = p->prior;
        if (!p)
            break;
        n++;
        simple_mark(left:linked, "%d", n); //~ n: clang
        if (p->stop || p->more) {
            say(next->more);
            break;
        }
    }
    if ((first->stop & 3) == 0 && n > most)
        say(most);
}

struct digits {
    unsigned char b[8];
};

static int next_digit(struct digits *n)
{
    uint32_t rest = 0;
    for (int i = 7; i >= 0; i--) {
        uint32_t now = rest * 256 + n->b[i];
        n->b[i] = now / 10;
        simple_mark_anchor(left:digits, "%d", i); //? i: clang same_in_copy
        rest = now % 10;
    }
    return rest;
}

/* The loop is unrolled, and the marker of a copy follows the change of i. An anchor does not help. */
static NOINLINE int digits(struct digits n)
{
    int sum = 0, any;
    do {
        sum = sum * 3 + next_digit(&n);
        any = 0;
        for (int i = 0; i < 8; i++)
            any |= n.b[i];
    } while (any);
    return sum;
}

int main(int count, char **words)
{
    uint64_t result = 0;
    struct object object = {count};
    struct pair pair = {count, count};
    (void)words;
    for (uint32_t i = 0; i < 6; i++) {
        uint32_t n = i + count;
        result = result * 31 + merged(result, n);
        result = result * 31 + joined(n, i) + reached(n, n + 3, n * 5);
        result = result * 31 + copied(i, n + 3, n) + second(i, n) + masked(i, n, n + 3);
        result = result * 31 + counted(5, result) + restored(&object, n + 7) + object.field;
    }
    unrolled(&pair);
    struct node nodes[4] = { { 0 }, { &nodes[0] }, { &nodes[1] }, { &nodes[2] } };
    linked(&nodes[3], count);
    struct digits number = { { count, 3, 5, 7 } };
    printf("%d %d\n", digits(number), out(result, count + 2) + out(count - 1, count));
    printf("%lu %lu %d\n", (unsigned long)result, (unsigned long)pair.count, pair.flag);
    return 0;
}
