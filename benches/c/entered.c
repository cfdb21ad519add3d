/* Passes a marker with one argument 200,000 times: a parameter that is in its register, or with -D GONE one that is
 * only known at the entry of its function. Prints the nanoseconds of a pass. */
#include <stdio.h>
#include <time.h>

#include "simple_marker.h"

__attribute__((noinline)) void pass(long value)
{
    __asm__ volatile("push %%rbx; pop %%rbx" ::: "memory", "rbx");
#ifdef GONE
    __asm__ volatile("xor %%edi, %%edi" ::: "rdi");
#endif
    __asm__ volatile("nop");
    simple_mark(entered:pass, "%ld", value);
    __asm__ volatile("nop");
#ifndef GONE
    __asm__ volatile("" ::"D"(value));
#endif
}

int main(void)
{
    const long count = 200000;
    struct timespec begin, end;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    for (long i = 0; i < count; i++)
        pass(i);
    clock_gettime(CLOCK_MONOTONIC, &end);
    fprintf(stderr, "ns %ld\n", ((end.tv_sec - begin.tv_sec) * 1000000000 + end.tv_nsec - begin.tv_nsec) / count);
    return 0;
}
