/* The function calls itself. With `#define LOOP` in this line it has a loop instead. */
#include <simple_marker.h>
#include <stdio.h>

static volatile int left = 4;

#ifdef LOOP
#define AGAIN(next) goto again
#else
#define AGAIN(next) return count(next)
#endif

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
