// Pairs of markers in one thread, nested and overlapping, and from thread to thread (tests/rust/timeline.rs).
#define _GNU_SOURCE
#include "simple_marker.h"

#include <pthread.h>

#define NOINLINE __attribute__((noinline))

NOINLINE static void outer_begin(int i) { simple_mark_keep(outer:begin, "%d", i); }
NOINLINE static void outer_end(int i) { simple_mark_keep(outer:end, "%d", i); }
NOINLINE static void inner_begin(int i) { simple_mark_keep(inner:begin, "%d", i); }
NOINLINE static void inner_end(int i) { simple_mark_keep(inner:end, "%d", i); }
NOINLINE static void cross_begin(int i) { simple_mark_keep(cross:begin, "%d", i); }
NOINLINE static void cross_end(int i) { simple_mark_keep(cross:end, "%d", i); }
NOINLINE static void submit(unsigned tag) { simple_mark_keep(request:submit, "%u", tag); }
NOINLINE static void done(unsigned tag) { simple_mark_keep(request:done, "%u", tag); }
NOINLINE static void point(int i) { simple_mark_keep(point, "%d", i); }

static void nested(int i) {
    outer_begin(i);
    inner_begin(i);
    point(i);
    inner_end(i);
    if (i % 3 == 0)
        cross_begin(i);
    inner_begin(-i);
    inner_end(-i);
    outer_end(i);
    if (i % 3 == 0)
        cross_end(i);
}

static void *other(void *unused) {
    pthread_setname_np(pthread_self(), "other");
    for (unsigned tag = 20; tag-- > 0;)
        if (tag != 7)
            done(tag);
    done(99);
    for (int i = 100; i < 110; i++)
        nested(i);
    return unused;
}

int main(void) {
    for (int i = 0; i < 20; i++)
        nested(i);
    // An end without a begin, and a begin that another one follows.
    outer_end(1000);
    inner_begin(1001);
    inner_begin(1002);
    inner_end(1002);
    for (unsigned tag = 0; tag < 20; tag++)
        submit(tag);
    pthread_t thread;
    pthread_create(&thread, 0, other, 0);
    pthread_join(thread, 0);
    return 0;
}
