/* Runs a generated program, linked from its assembly. With COUNTED, reads the counters in it. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

uint32_t run(uint32_t rounds);

#if defined COUNTED
extern unsigned long smark_counters[] __attribute__((visibility("hidden")));
#endif

int main(int count, char **words)
{
    uint32_t result = run(count > 1 ? (uint32_t)atoi(words[1]) : 0);
#if defined COUNTED
    for (int index = 0; index < COUNTED; index++)
        printf("%lu\n", smark_counters[index]);
#endif
    printf("%lu\n", (unsigned long)result);
    return 0;
}
