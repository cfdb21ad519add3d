/* The loop leaves before the step, or after it. */
#include <simple_marker.h>
#include <stdint.h>

#define mark simple_mark(ahead, "%u", m)
#define LOOP while (!count[m]) m--; mark; last = m

static volatile uint32_t out = 3;

static __attribute__((noinline)) uint32_t search(const uint32_t *count)
{
    uint32_t m = out, last;
    LOOP;
    out = last;
    return last * 3;
}

int main(void)
{
    uint32_t count[8] = {1, 1};
    return search(count) - 3;
}
