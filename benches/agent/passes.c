/* Passes a marker so often in a second, and says in a file how often it did: also if it is killed. */
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "simple_marker.h"

#ifndef KIND
#define KIND 1
#endif

static __attribute__((noinline)) void pass(unsigned long number, unsigned kind) {
    simple_mark_keep(passes:pass, "number %lu kind %u", number, kind);
}

int main(int count, char **arguments) {
    if (count < 4)
        return 2;
    unsigned long a_second = strtoul(arguments[2], 0, 0), seconds = strtoul(arguments[3], 0, 0);
    int file = open(arguments[1], O_RDWR | O_CREAT | O_TRUNC, 0644);
    if (file < 0 || ftruncate(file, sizeof(unsigned long)) < 0)
        return 1;
    _Atomic unsigned long *passed = mmap(0, sizeof *passed, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (passed == MAP_FAILED)
        return 1;
    struct timespec next;
    clock_gettime(CLOCK_MONOTONIC, &next);
    for (unsigned long second = 0; second < seconds * 10; second++) {
        for (unsigned long hit = 0; hit < a_second / 10; hit++) {
            pass(*passed, KIND);
            *passed += 1;
        }
        next.tv_nsec += 100000000;
        next.tv_sec += next.tv_nsec / 1000000000;
        next.tv_nsec %= 1000000000;
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, 0);
    }
    return 0;
}
