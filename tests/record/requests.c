// Requests of four threads, one in a thousand of them slow: as many hits as its argument says (.ci/pages).
#define _GNU_SOURCE
#include "simple_marker.h"
#include <pthread.h>
#include <stdlib.h>
#include <stdio.h>
#define NOINLINE __attribute__((noinline))
NOINLINE static void begin(unsigned tag) { simple_mark_keep(work:begin, "%u", tag); }
NOINLINE static void step(unsigned tag, int i) { simple_mark_keep(work:step, "request %u step %d", tag, i); }
NOINLINE static void end(unsigned tag) { simple_mark_keep(work:end, "%u", tag); }
static long each;
static void *run(void *number) {
    unsigned tag = (unsigned)(long)number << 24, seed = tag + 1;
    char name[16];
    snprintf(name, sizeof name, "worker %ld", (long)number);
    pthread_setname_np(pthread_self(), name);
    for (long i = 0; i < each; i++) {
        begin(tag + i);
        step(tag + i, 1);
        volatile unsigned spin = 0;
        for (int n = rand_r(&seed) % (i % 1000 ? 300 : 300000); n > 0; n--) spin += n;
        step(tag + i, 2);
        end(tag + i);
    }
    return 0;
}
int main(int count, char **arguments) {
    each = atol(arguments[1]) / 16;
    pthread_t threads[4];
    for (long i = 0; i < 4; i++) pthread_create(&threads[i], 0, run, (void *)i);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], 0);
    return 0;
}
