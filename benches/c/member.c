/* A marker with a plain argument and a whole value at a nop, passed many times: `member [TIMES]`. It prints
   `ns NUMBER`, for one pass. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <simple_marker.h>

struct owner { const char *name; struct owner *boss; int id; };
struct request { unsigned long tag; int status; struct owner *owner; };

__attribute__((noinline)) static long pass(const struct request *request)
{
    simple_mark_anchor(member:pass, "%d %p{}", request->status, request);
    return (long)request->tag + request->status;
}

int main(int count, char **arguments)
{
    long times = count > 1 ? atol(arguments[1]) : 200000, sum = 0;
    struct timespec from, to;
    struct owner boss = { "root", 0, 1 }, owner = { "alice", &boss, 2 };
    struct request request = { 7, 5, &owner };
    clock_gettime(CLOCK_MONOTONIC, &from);
    for (long i = 0; i < times; i++) {
        request.tag = (unsigned long)i;
        sum += pass(&request);
    }
    clock_gettime(CLOCK_MONOTONIC, &to);
    fprintf(stderr, "ns %ld\n", ((to.tv_sec - from.tv_sec) * 1000000000 + to.tv_nsec - from.tv_nsec) / times);
    return sum == 1;
}
