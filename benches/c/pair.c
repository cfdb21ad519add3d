/* Passes two markers one after the other, and prints how long a pair takes in ns: `pair [ROUNDS]`. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include "simple_marker.h"

volatile int sink;

int main(int count, char **arguments) {
    long rounds = count > 1 ? atol(arguments[1]) : 1000000;
    struct timespec start, end;
    clock_gettime(CLOCK_MONOTONIC, &start);
    for (long round = 0; round < rounds; round++) {
        int lane = round & 7;
        simple_mark_anchor(pair:begin, "%d", lane);
        sink = lane;
        simple_mark_anchor(pair:end, "%d", lane);
        sink = lane + 1;
    }
    clock_gettime(CLOCK_MONOTONIC, &end);
    fprintf(stderr, "ns %.0f\n", ((end.tv_sec - start.tv_sec) * 1e9 + (end.tv_nsec - start.tv_nsec)) / rounds);
    return 0;
}
