/* The debug information goes on with the place of the first value, in C++. */
#include <simple_marker.h>
#include <stdint.h>
#include <stdio.h>

/* The lambda holds the address of a, so gcc -Og keeps a in the frame. It is described in the
   register in which it was passed. */
static __attribute__((noinline)) uint32_t captured(uint32_t a)
{
    auto sum = [&](uint32_t c) { return c + a; };
    uint32_t used = sum(5);
    a = a * 3 + used;
    simple_mark(stale:captured, "%u", a);
    return used * a;
}

int main(int count, char **words)
{
    uint32_t result = 0;
    (void)words;
    for (uint32_t i = 0; i < 6; i++)
        result = result * 31 + captured(i + count);
    printf("%u\n", result);
    return 0;
}
