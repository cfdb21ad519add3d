/* An assignment changes a bit that is not used. With `(void)0` in CHANGE there is none. */
#include <simple_marker.h>
#include <stdio.h>

#define CHANGE(place) place ^= 2

__attribute__((noinline)) int masked(int used, int a, int b)
{
    CHANGE(a);
    used *= 31;
    simple_mark(pair:masked, "%d", a);
    used ^= used >> 7;
    return used + (a * b & 1);
}

int main(int count, char **words)
{
    (void)words;
    printf("%d\n", masked(count, count + 4, count + 6));
    return 0;
}
