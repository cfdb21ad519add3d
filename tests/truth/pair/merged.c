/* The assignment is merged with the next use. With `mark; return used * 31 + (d - c)` in REST the
 * variable is not assigned. */
#include <simple_marker.h>
#include <stdio.h>

#define REST(mark) d -= c; mark; return used * 31 + d

__attribute__((noinline)) int merged(int used, int c)
{
    int d = 37;
    used = used * 31 + d;
    REST(simple_mark(pair:merged, "%d", d));
}

int main(int count, char **words)
{
    (void)words;
    printf("%d\n", merged(count, count + 4));
    return 0;
}
