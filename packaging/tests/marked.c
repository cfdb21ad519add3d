/* Passes a marker five times and a probe three times. */
#include <simple_marker.h>
#include <stdio.h>

static int __attribute__((noinline)) half(int n)
{
    simple_mark_keep_anchor(packaged:half, "n %d", n);
    return n / 2;
}

int main(void)
{
    int sum = 0;
    for (int n = 10; n < 15; n++)
        sum += half(n);
    for (int n = 0; n < 3; n++)
        simple_probe(packaged:probe, "n %d of %s", n, "three");
    printf("%d\n", sum);
}
