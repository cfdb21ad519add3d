/* A marker with four arguments at a nop, passed many times: `hot [TIMES]`. It prints `ns NUMBER`, for one pass.
   With FAST, the marker has a fast anchor. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <simple_marker.h>

#ifdef FAST
#define MARK simple_mark_anchor_fast
#else
#define MARK simple_mark_anchor
#endif

struct request { unsigned long tag; int status; };

__attribute__((noinline)) static long pass(const struct request *request, long queue, unsigned depth)
{
    MARK(hot:pass, "%lu %d %ld %u", request->tag, request->status, queue, depth);
    return (long)request->tag + request->status + queue + depth;
}

int main(int count, char **arguments)
{
    long times = count > 1 ? atol(arguments[1]) : 200000, sum = 0;
    struct timespec from, to;
    struct request request = { 7, 5 };
    clock_gettime(CLOCK_MONOTONIC, &from);
    for (long i = 0; i < times; i++) {
        request.tag = (unsigned long)i;
        sum += pass(&request, i * 3, (unsigned)i & 15);
    }
    clock_gettime(CLOCK_MONOTONIC, &to);
    fprintf(stderr, "ns %ld\n", ((to.tv_sec - from.tv_sec) * 1000000000 + to.tv_nsec - from.tv_nsec) / times);
    return sum == 1;
}
