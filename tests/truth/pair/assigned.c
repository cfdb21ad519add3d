/* The variables are assigned, but not read again. With `(void)0` in ASSIGN they keep their first
   values. */
#include <simple_marker.h>
#include <stdio.h>

#define ASSIGN(place, value) place = value

static volatile int left = 4;

__attribute__((noinline)) int in_branch(int a, int b)
{
    int v = a;
    if (b)
        ASSIGN(v, b);
    simple_mark(pair:branch, "%d", v);
    return a + b;
}

__attribute__((noinline)) int in_loop(int a)
{
    int v = 1;
    while (left-- > 0) {
        if (left == 2)
            ASSIGN(v, 3);
        simple_mark(pair:loop, "%d", v);
    }
    return a;
}

int main(int count, char **words)
{
    (void)words;
    printf("%d %d\n", in_loop(count), in_branch(count + 4, count + 1));
    return 0;
}
