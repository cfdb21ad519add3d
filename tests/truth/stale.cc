/* The debug information goes on with the place of the first value, in C++. */
#include <new>
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

/* Nothing reads the pointer after the assignment, so clang drops it. The memory of the parameter is described
   as its place. A reference is such a pointer. */
struct holder {
    uint32_t &reference;
    uint32_t *pointer;
    uint32_t more[6];
};
static uint32_t other = 77;
static __attribute__((noinline)) uint32_t dropped(struct holder h)
{
    uint32_t used = h.reference + *h.pointer + h.more[5];
    h.pointer = &other;
    __asm__ volatile("" : "+r"(used));
    simple_mark(stale:dropped, "%u", *h.pointer); //~ *h.pointer: clang
    return used;
}
static __attribute__((noinline)) uint32_t placed(struct holder h)
{
    uint32_t used = h.reference + h.more[5];
    new (&h) holder{other, &other, {}};
    __asm__ volatile("" : "+r"(used));
    simple_mark(stale:placed, "%u", h.reference); //~ h.reference: clang
    return used;
}

int main(int count, char **words)
{
    uint32_t result = 0;
    (void)words;
    struct holder h = {result, &result, {1, 2, 3, 4, 5, 6}};
    printf("%u %u\n", dropped(h), placed(h));
    for (uint32_t i = 0; i < 6; i++)
        result = result * 31 + captured(i + count);
    printf("%u\n", result);
    return 0;
}
