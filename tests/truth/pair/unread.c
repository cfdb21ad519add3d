/* The callee does not read the object. So the caller does not store 5, or 7 with that in FIRST. */
#include <simple_marker.h>
#include <stdio.h>

#define FIRST 5

struct object {
    int field;
};

static __attribute__((noinline)) int unread(struct object *p, int n)
{
    simple_mark(pair:unread, "%d", p->field);
    putchar('\n');
    if (n & 2)
        p->field = n;
    return n * 3;
}

int main(int count, char **words)
{
    struct object object = { FIRST };
    (void)words;
    printf("%d\n", unread(&object, count));
    return 0;
}
