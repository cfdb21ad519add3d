/* The marker is behind the assignment. With `mark; assign` in ORDER it is before it. The first value of v has no code: nothing but
   the marker needs it. So v has no location before the site in both. */
#include <simple_marker.h>
#include <stdio.h>

#define ORDER(mark, assign) assign; mark

static volatile int seen;

__attribute__((noinline, const)) int pure(int of)
{
    return of * of + 1;
}

__attribute__((noinline)) int begins(int a, int b)
{
    int v = pure(a);
    seen = b;
    ORDER(simple_mark(pair:begins, "%d", v), v = b);
    return v * 3;
}

int main(int count, char **words)
{
    (void)words;
    printf("%d\n", begins(count + 1, count + 2));
    return 0;
}
