/* The marker is before the assignment. With `assign; mark` in ORDER it is behind it. */
#include <simple_marker.h>
#include <stdio.h>

#define ORDER(mark, assign) mark; assign

static volatile int seen;

__attribute__((noinline)) int replaced(int a, int b)
{
    int v = a;
    seen = v;
    ORDER(simple_mark(pair:order, "%d", v), v = b);
    return v * 3;
}

int main(int count, char **words)
{
    (void)words;
    printf("%d\n", replaced(count + 4, count + 1));
    return 0;
}
