/*
 * stores.h - the functions of stores.c, with MARK(name, place) and FUNCTION(name)
 */

/* The second addition is merged with the first. */
static NOINLINE void FUNCTION(twice)(struct state *__restrict state)
{
    state->n += 1;
    MARK(twice, state->n);
    state->n += 1;
}

/* An unrolled loop. */
static NOINLINE void FUNCTION(unrolled)(struct state *__restrict state)
{
    for (int i = 0; i < 4; i++) {
        state->n += 3;
        MARK(unrolled, state->n);
    }
}

/* A loop. */
static NOINLINE void FUNCTION(sum)(struct state *__restrict state, const u64 *__restrict values, u64 count)
{
    for (u64 i = 0; i < count; i++) {
        state->n = (state->n * 31) ^ values[i];
        MARK(sum, state->n);
    }
    state->n = 1;
}

/* A field of a field, overwritten on one path. */
static NOINLINE void FUNCTION(nested)(struct state *__restrict state, u64 again)
{
    state->inner.depth += 7;
    MARK(nested, state->inner.depth);
    if (again)
        state->inner.depth = 0;
}

static inline void FUNCTION(add)(struct state *__restrict state, u64 value)
{
    state->first += value;
    MARK(add, state->first);
}

/* An inlined function, three times. */
static NOINLINE void FUNCTION(three)(struct state *__restrict state, u64 value)
{
    FUNCTION(add)(state, value);
    FUNCTION(add)(state, value >> 3);
    FUNCTION(add)(state, ~value);
}

/* A struct passed by value. */
static NOINLINE u64 FUNCTION(by_value)(struct value value)
{
    value.k += 1;
    MARK(by_value, value.k);
    return value.j ^ value.k;
}

/* A field that is never read again. */
static NOINLINE u64 FUNCTION(unread)(struct value value, u64 by)
{
    value.k = by * 3;
    MARK(unread, value.k);
    return value.j;
}

/* An element that is overwritten. */
static NOINLINE u64 FUNCTION(element)(u64 value)
{
    u64 a[4] = {0, 0, 0, 0};
    a[1] = 77;
    MARK(element, a[1]);
    a[1] = value;
    return a[value & 3];
}

static void FUNCTION(run)(void)
{
    struct state state = {hidden(10), hidden(20), {hidden(30)}};
    const u64 values[5] = {1, 2, 3, 4, 5};
    struct value value = {hidden(1), hidden(7)};

    FUNCTION(twice)(&state);
    FUNCTION(twice)(&state);
    FUNCTION(unrolled)(&state);
    FUNCTION(sum)(&state, values, hidden(5));
    FUNCTION(nested)(&state, hidden(1));
    FUNCTION(nested)(&state, hidden(0));
    FUNCTION(three)(&state, hidden(1000));
    hidden(FUNCTION(by_value)(value));
    hidden(FUNCTION(unread)(value, hidden(5)));
    hidden(FUNCTION(element)(hidden(6)));
    hidden(state.n);
}
