/* Parameters that loops assign. gcc describes them by their values at the entry also where they have others. */
#include <simple_marker.h>

static volatile long sink;

__attribute__((noinline)) void work(long x)
{
    sink = x;
    __asm__ volatile("" ::: "rdi", "rsi", "rdx", "rcx", "r8", "r9", "r10", "r11");
}

/* It becomes a loop. */
__attribute__((noinline)) long tail(long n, long sum)
{
    work(n);
    simple_mark(entry:tail, "%ld %ld", n, sum);
    __asm__ volatile("nop");
    if (n == 0)
        return 5;
    return tail(n - 1, sink * 3);
}

__attribute__((noinline)) long assigned(long n)
{
    long sum = 0;
    for (long i = 0; i < 3; i++) {
        work(i);
        simple_mark(entry:assigned, "%ld", n);
        sum += sink;
        n = sink * 7;
    }
    return sum + n;
}

int main(void)
{
    return tail(3, 100) + assigned(77) == 0;
}
