/* A marker with four numbers or a structure of 64 bytes at a nop, passed many times: `whole scalars|structure [TIMES]`.
   It prints `ns NUMBER`, for one pass. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <simple_marker.h>

struct request { unsigned long tag; int status; unsigned depth; long queue; double load; unsigned long times[4]; };

__attribute__((noinline)) static void scalars(struct request *request)
{
    simple_mark_anchor(whole:scalars, "%lu %d %u %ld", request->tag, request->status, request->depth, request->queue);
    __asm__ volatile("" : : "r"(request) : "memory");
}

__attribute__((noinline)) static void structure(struct request *request)
{
    simple_mark_anchor(whole:structure, "%p{}", request);
    __asm__ volatile("" : : "r"(request) : "memory");
}

int main(int count, char **arguments)
{
    void (*pass)(struct request *) = count > 1 && strcmp(arguments[1], "scalars") == 0 ? scalars : structure;
    long times = count > 2 ? atol(arguments[2]) : 200000;
    struct timespec from, to;
    struct request request = { 7, 5, 3, 1, 0.5, { 1, 2, 3, 4 } };
    clock_gettime(CLOCK_MONOTONIC, &from);
    for (long i = 0; i < times; i++) {
        request.tag = (unsigned long)i;
        pass(&request);
    }
    clock_gettime(CLOCK_MONOTONIC, &to);
    fprintf(stderr, "ns %ld\n", ((to.tv_sec - from.tv_sec) * 1000000000 + to.tv_nsec - from.tv_nsec) / times);
    return 0;
}
