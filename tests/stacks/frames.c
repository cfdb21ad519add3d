// Passes markers in frames of many kinds, with a seed: `frames HITS SEED`. `hits` has the number of the hit.
#define _GNU_SOURCE
#include <alloca.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "simple_marker.h"

volatile int hits;
static unsigned long seed;

#define HIT(kind)                                                                                                      \
    do {                                                                                                               \
        int n = hits + 1;                                                                                              \
        hits = n;                                                                                                      \
        __asm__ volatile("nop");                                                                                       \
        simple_mark_keep(frames:kind, "%d", n);                                                                        \
        __asm__ volatile("nop");                                                                                          \
    } while (0)

static unsigned below(unsigned n) {
    seed = seed * 6364136223846793005ul + 1442695040888963407ul;
    return (unsigned)(seed >> 33) % n;
}

__attribute__((noinline)) void walk(int depth);

__attribute__((noinline)) static int leaf(int a) {
    HIT(leaf);
    return a * 3;
}

static int compare(const void *a, const void *b) {
    if (below(16) == 0) HIT(compare);
    return *(const int *)a - *(const int *)b;
}

static void handler(int number) {
    HIT(handler);
    if (below(3) == 0) leaf(number);
}

__attribute__((noinline)) static void variable(int n, int depth) {
    volatile char bytes[n];
    memset((char *)bytes, 1, n);
    walk(depth - 1);
    __asm__ volatile("" ::"r"(bytes) : "memory");
}

__attribute__((noinline)) static void large(int depth) {
    volatile char bytes[20000];
    __asm__ volatile("" ::"r"(bytes) : "memory");
    walk(depth - 1);
    __asm__ volatile("" ::"r"(bytes) : "memory");
}

struct __attribute__((aligned(64))) line {
    char bytes[64];
};

__attribute__((noinline)) static void aligned(int depth) {
    struct line line;
    __asm__ volatile("" ::"r"(&line) : "memory");
    volatile char *bytes = alloca(depth * 16 + 1);
    bytes[0] = 1;
    walk(depth - 1);
    __asm__ volatile("" ::"r"(bytes), "r"(&line) : "memory");
}

__attribute__((noinline)) static int tail_called(int depth) {
    HIT(tail);
    walk(depth - 1);
    return below(3);
}

__attribute__((noinline)) static int tail_calls(int depth) {
    return tail_called(depth);
}

// Its values are in all registers that a callee saves.
__attribute__((noinline)) static long many(long a, long b, long c, long d, long e, long f, long g, int depth) {
    long x = a * b, y = c * d, z = e * f;
    walk(depth - 1);
    return x + y + z + g + a + b + c;
}

__attribute__((noinline)) void walk(int depth) {
    if (depth <= 0) {
        leaf(depth);
        return;
    }
    switch (below(10)) {
    case 0:
        walk(depth - 1);
        HIT(recursive);
        break;
    case 1: {
        int values[20];
        for (int i = 0; i < 20; i++) values[i] = below(1000);
        qsort(values, 20, sizeof *values, compare);
        break;
    }
    case 2: {
        int values[20], key = below(20);
        for (int i = 0; i < 20; i++) values[i] = i;
        bsearch(&key, values, 20, sizeof *values, compare);
        break;
    }
    case 3:
        raise(SIGUSR1);
        break;
    case 4:
        variable(1 + below(3000), depth);
        HIT(variable);
        break;
    case 5:
        if (below(20) == 0)
            large(depth);
        else
            walk(depth - 1);
        break;
    case 6:
        aligned(depth);
        HIT(aligned);
        break;
    case 7:
        tail_calls(depth);
        break;
    case 8:
        many(1, 2, 3, 4, 5, 6, 7, depth);
        HIT(many);
        break;
    case 9:
        pthread_kill(pthread_self(), SIGUSR1);
        break;
    }
    __asm__ volatile("");
}

static void *run(void *data) {
    walk(6);
    return data;
}

int main(int count, char **arguments) {
    int wanted = count > 1 ? atoi(arguments[1]) : 100;
    seed = count > 2 ? strtoul(arguments[2], 0, 10) : 1;
    struct sigaction action = {0};
    action.sa_handler = handler;
    sigaction(SIGUSR1, &action, 0);
    while (hits < wanted) {
        if (below(10) == 0) {
            pthread_t thread;
            if (pthread_create(&thread, 0, run, 0)) return 1;
            pthread_join(thread, 0);
        } else {
            walk(5);
        }
    }
    return 0;
}
