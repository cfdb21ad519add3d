/* Static probes whose arguments are variables, and some that are not. The comment behind each has what a
 * tool may call them: `-` is an expression, which has no name of its own. */
#include <stdlib.h>
#include <string.h>
#include <sys/sdt.h>

enum state { IDLE, BUSY = 4, DONE = 7 };

struct node {
    int depth;
    const char *label;
};

volatile int sink;
static __attribute__((noinline)) int work(int a) { return sink += a; }

static __attribute__((noinline)) int plain(int count, const char *text, enum state state, const struct node *node)
{
    work(count);
    STAP_PROBE4(named, plain, count, text, state, node); /* count text state node */
    work(count + (int) strlen(text));
    return node->depth + state;
}

static __attribute__((noinline)) long computed(unsigned long total, struct node *node, char letter, unsigned char byte)
{
    STAP_PROBE5(named, computed, total + 3, node->depth, node->label, letter, byte); /* - - - letter byte */
    work(node->depth + letter);
    return (long) total * byte;
}

/* Two variables have one value, and often one register. */
static __attribute__((noinline)) int twice(int first)
{
    int second = first;
    STAP_PROBE1(named, twice, first); /* first */
    work(second);
    if (sink > 5)
        second = work(3);
    return first + second;
}

static inline __attribute__((always_inline)) int inner(int depth, short level)
{
    /* In each copy. */
    STAP_PROBE2(named, inner, depth, level); /* depth level */
    return work(depth + level);
}

static __attribute__((noinline)) int outer(int width, short floor)
{
    int sum = inner(width, floor);
    sum += inner(sum, 4);
    STAP_PROBE2(named, outer, sum, width); /* sum width */
    return sum + width;
}

static __attribute__((noinline)) int loop(int limit)
{
    int seen = 0;
    for (int index = 0; index < limit; index++) {
        seen += work(index);
        STAP_PROBE2(named, loop, index, seen); /* index seen */
    }
    {
        long seen = work(limit);
        STAP_PROBE1(named, block, seen); /* seen */
        sink = (int) seen;
    }
    return seen;
}

int main(int argc, char **argv)
{
    struct node node = {argc, argv[0]};
    char *copy = strdup(argv[0]);
    int result = plain(argc, copy, argc > 1 ? BUSY : DONE, &node);
    result += (int) computed(argc, &node, *copy, (unsigned char) argc);
    result += twice(argc) + outer(argc, (short) argc) + loop(argc + 3);
    STAP_PROBE2(named, end, result, copy); /* result copy */
    free(copy);
    return result & 1;
}
