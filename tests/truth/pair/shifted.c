/* Only the lower byte of the value is used, and the other variable does not change it. With 9 in
 * SHIFTED the upper bits are others. */
#include <simple_marker.h>
#include <stdio.h>

#define SHIFTED(x) x << 8

__attribute__((noinline)) int shifted(int x, int y)
{
    int h = (SHIFTED(x)) + y;
    simple_mark(pair:shifted, "%d", h);
    return (unsigned char)h + y * 3;
}

int main(int count, char **words)
{
    (void)words;
    printf("%d\n", shifted(count, count + 4));
    return 0;
}
