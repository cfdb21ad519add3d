/* The loop leaves before the step, or after it, and the result is computed in the loop. */
#include <simple_marker.h>
#include <stdint.h>

#define mark simple_mark(kept, "%u", m)
#define LOOP while (!count[m]) m--; mark; return m * 3

static volatile uint32_t out = 3;

static __attribute__((noinline)) uint32_t search(const uint32_t *count, uint32_t m)
{
    LOOP;
}

int main(void)
{
    uint32_t count[8] = {1, 1};
    return search(count, out) - 3;
}
