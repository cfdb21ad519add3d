// Passes a marker below `DEPTH` frames, in blocks with a pause after each, in which the buffer is emptied: `stacks DEPTH`.
// Prints the nanoseconds of a pass, the median of the blocks, and how many passes there were.
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include "simple_marker.h"

enum { BLOCKS = 200, PASSES = 50 };

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1e9 + time.tv_nsec;
}

__attribute__((noinline)) static double below(int depth) {
    double result;
    if (depth > 0) {
        result = below(depth - 1);
    } else {
        double start = now();
        for (int i = 0; i < PASSES; i++) {
            __asm__ volatile("nop");
            simple_mark_keep(stacks:pass, "%d", i);
            __asm__ volatile("nop");
        }
        result = (now() - start) / PASSES;
    }
    __asm__ volatile("" ::: "memory");
    return result;
}

static int order(const void *a, const void *b) {
    return (*(const double *)a > *(const double *)b) - (*(const double *)a < *(const double *)b);
}

int main(int count, char **arguments) {
    double blocks[BLOCKS];
    for (int i = 0; i < BLOCKS; i++) {
        blocks[i] = below(count > 1 ? atoi(arguments[1]) : 10);
        nanosleep(&(struct timespec){.tv_nsec = 20000000}, 0);
    }
    qsort(blocks, BLOCKS, sizeof *blocks, order);
    fprintf(stderr, "ns %.0f\npasses %d\n", blocks[BLOCKS / 2], BLOCKS * PASSES);
    return 0;
}
