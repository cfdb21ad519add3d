/* Stores as in delayed.c, with markers that keep the values. Also compiled as C++, by exact.cc. */
#include <simple_marker.h>
#include <stdint.h>
#include <stdio.h>

#define NOINLINE __attribute__((noinline))

typedef uint64_t u64;

struct inner {
    u64 depth;
};

struct state {
    u64 first;
    u64 n;
    struct inner inner;
};

struct value {
    u64 j;
    u64 k;
};

/* The second addition is merged with the first. */
static NOINLINE void twice(struct state *__restrict state)
{
    state->n += 1;
    simple_mark_keep_anchor(kept:twice, "%lu", state->n);
    state->n += 1;
}

/* An unrolled loop. */
static NOINLINE void unrolled(struct state *__restrict state)
{
    for (int i = 0; i < 4; i++) {
        state->n += 3;
        simple_mark_keep_anchor(kept:unrolled, "%lu", state->n);
    }
}

/* A loop. */
static NOINLINE void sum(struct state *__restrict state, const u64 *__restrict values, u64 count)
{
    for (u64 i = 0; i < count; i++) {
        state->n = (state->n * 31) ^ values[i];
        simple_mark_keep_anchor(kept:sum, "%lu", state->n);
    }
    state->n = 1;
}

/* A field of a field, overwritten on one path. */
static NOINLINE void nested(struct state *__restrict state, int again)
{
    state->inner.depth += 7;
    simple_mark_keep_anchor(kept:nested, "%lu", state->inner.depth);
    if (again)
        state->inner.depth = 0;
}

/* An inlined function. */
static inline void add(struct state *__restrict state, u64 value)
{
    state->first += value;
    simple_mark_keep_anchor(kept:add, "%lu", state->first);
}

static NOINLINE void three(struct state *__restrict state, u64 value)
{
    add(state, value);
    add(state, value >> 3);
    add(state, ~value);
}

/* A struct passed by value. */
static NOINLINE u64 by_value(struct value value)
{
    value.k += 1;
    simple_mark_keep_anchor(kept:by_value, "%lu", value.k);
    return value.j ^ value.k;
}

/* A field that is never read again. */
static NOINLINE u64 unread(struct value value, u64 by)
{
    value.k = by * 3;
    simple_mark_keep_anchor(kept:unread, "%lu", value.k);
    return value.j;
}

/* An element that is overwritten. */
static NOINLINE u64 element(u64 value)
{
    u64 a[4] = { 0, 0, 0, 0 };
    a[1] = 77;
    simple_mark_keep_anchor(kept:element, "%lu", a[1]);
    a[1] = value;
    return a[value & 3];
}

int main(int count, char **words)
{
    u64 one = (u64)count;
    struct state state = { 9 + one, 19 + one, { 29 + one } };
    struct value value = { one, 6 + one };
    u64 values[5] = { 1, 2, 3, 4, 5 };
    (void)words;
    twice(&state);
    twice(&state);
    unrolled(&state);
    sum(&state, values, 4 + one);
    nested(&state, count);
    nested(&state, count - 1);
    three(&state, 999 + one);
    printf("%d %d %d\n", (int)by_value(value), (int)unread(value, 4 + one), (int)element(5 + one));
    return 0;
}
