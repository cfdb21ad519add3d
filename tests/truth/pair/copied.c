/* b is the old value of a. With `next` in OF it is the new one. */
#include <simple_marker.h>
#include <stdio.h>

#define OF(old, next) old

__attribute__((noinline)) int copied(int used, int a)
{
    if (used & 1) {
        int next = a * 3;
        used += 2;
        int b = OF(a, next);
        simple_mark(pair:copied, "%d", b);
        used *= 31;
        a = next;
    }
    return used + a;
}

int main(int count, char **words)
{
    (void)words;
    printf("%d\n", copied(count, count + 4));
    return 0;
}
