/* The function calls itself. With `goto again` in AGAIN it has a loop instead. */
#include <simple_marker.h>
#include <stdio.h>

#define AGAIN(next) return count(next)

static volatile int left = 4;

__attribute__((noinline)) int count(int depth)
{
again: __attribute__((unused));
    simple_mark(pair:count, "%d", depth);
    if (left-- > 0)
        AGAIN(depth - 1);
    return left;
}

int main(int count_of_words, char **words)
{
    (void)words;
    printf("%d\n", count(count_of_words + 4));
    return 0;
}
