/* Stores that are held back in a register, or dropped. */
#include <simple_marker.h>
#include <stdio.h>
#include <string.h>

#define NOINLINE __attribute__((noinline))

struct counter {
    unsigned a, b;
};

static NOINLINE void restricted(struct counter *restrict c, unsigned n)
{
    c->a = n;
    simple_mark(delayed:restrict, "%u", c->a);
    c->a = n * 3;
}

static NOINLINE unsigned element(unsigned n)
{
    unsigned a[16];
    for (unsigned i = 0; i < 16; i++)
        a[i] = i * n;
    a[1] = 77;
    simple_mark(delayed:element, "%u", a[1]);
    a[1] = n;
    return a[(n * 3) & 15] + a[(n * 5) & 15];
}

struct large {
    unsigned k, rest[15];
};

static NOINLINE unsigned by_value(struct large v)
{
    v.k += 1;
    simple_mark(delayed:by_value, "%u", v.k); //~ v.k: clang
    return v.rest[v.k & 7];
}

static NOINLINE unsigned unread(const unsigned *values, unsigned n)
{
    struct large v = { 1, { n } };
    for (unsigned i = 0; i < n; i++) {
        v.rest[i & 7] += values[i];
        v.k = values[i];
    }
    simple_mark(delayed:unread, "%u", v.k); //~ v.k: gcc
    return v.rest[n & 7];
}

static NOINLINE unsigned fill(unsigned *all)
{
    for (unsigned i = 0; i < 16; i++)
        all[i] = i;
    return all[3];
}

/* When the block is left, another array gets the bytes, and a callee its address. */
static NOINLINE unsigned shared(unsigned used, unsigned n)
{
    {
        unsigned items[16] = { used, used, used, used, used, used, used, used };
        items[n & 7] = n;
        items[4] = n + 1;
        simple_mark(delayed:shared, "%u", items[4]); //~ items[4]: clang gcc
        used = items[3];
    }
    unsigned other[16];
    return fill(other) + used;
}

struct wide {
    unsigned k, rest[99];
};

/* A callee that only writes is no reader. */
static NOINLINE unsigned cleared(struct wide *restrict v, unsigned n)
{
    v->k = n;
    simple_mark(delayed:cleared, "%u", v->k); //? v->k: clang overwritten_unread
    memset(v, 0, sizeof *v);
    return fill(v->rest);
}

static NOINLINE unsigned copied(struct wide *restrict v, const struct wide *restrict from, unsigned n)
{
    v->k = n;
    simple_mark(delayed:copied, "%u", v->k); //? v->k: clang overwritten_unread
    memcpy(v, from, sizeof *v);
    return fill(v->rest);
}

/* At -Os, clang copies these with one instruction. */
static NOINLINE unsigned moved(unsigned used, struct large *restrict v, const struct large *restrict from)
{
    used = used * 31 + v->rest[2];
    v->k = used;
    simple_mark(delayed:moved, "%u", v->k); //? v->k: clang overwritten_unread
    memcpy(v, from, sizeof *v);
    return used;
}

int main(int count, char **words)
{
    unsigned values[7] = { 5, 3, 8, 1, 9, 2, 7 };
    struct counter c = { 1, 1 };
    struct large v = { 6 + count, { 1, 2, 3 } };
    (void)words;
    restricted(&c, 6 + count);
    printf("%u %u %u %u %u\n", c.a, c.b, element(5 + count), by_value(v), unread(values, 6 + count));
    printf("%u\n", shared(c.a, count));
    struct wide wide = { 8 }, other = { 4 };
    printf("%u %u\n", copied(&wide, &other, count), cleared(&wide, count));
    printf("%u %u\n", moved(count, &v, &(struct large){ 4 }), v.k);
    return 0;
}
