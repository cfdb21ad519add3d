/* The field is assigned, and gets its old value back: no instruction stores either. With the
   statements of STEP the other way round the marker sees the old value. */
#include <simple_marker.h>
#include <stdio.h>

#define STEP(assign, mark) assign; mark

struct object {
    int field;
};

static inline int restored(struct object *restrict s, int other)
{
    int old = s->field;
    STEP(s->field = other, simple_mark(pair:restored, "%d", s->field));
    s->field = old;
    return old * other;
}

__attribute__((noinline)) int caller(struct object *s, int other)
{
    return restored(s, other) + 3;
}

int main(int count, char **words)
{
    struct object s = {count};
    (void)words;
    printf("%d %d\n", caller(&s, count + 4), s.field);
    return 0;
}
