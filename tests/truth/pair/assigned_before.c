/* The variables are assigned, but not read again. With `(void)0` in ASSIGN they keep their first
   values. */
#include <simple_marker.h>
#include <stdio.h>

#define ASSIGN(place, value) place = value

__attribute__((noinline)) int in_loop(int a, int b)
{
    int v = a, w = 7;
    for (int i = 0; i < b; i++) {
        ASSIGN(v, i);
        ASSIGN(w, i);
    }
    simple_mark(pair:loop, "%d %d", v, w);
    return a + b;
}

int main(int count, char **words)
{
    (void)words;
    printf("%d\n", in_loop(count + 4, count + 1));
    return 0;
}
