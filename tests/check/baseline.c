// The program of a lock file, and the changes in other builds.
#include "simple_marker.h"

int work(int);
int finish(int);

int submit(int tag);
int submit(int tag)
{
    int status = work(tag);
#if defined RENAMED
    simple_mark_keep(check:accepted, "tag %d", tag);
#elif defined WORSE
    simple_mark(check:marker, "tag %d", tag);
#elif defined DEAD
    if (0)
        simple_mark_keep(check:marker, "tag %d", tag);
#elif !defined GONE
    simple_mark_keep(check:marker, "tag %d", tag);
#endif
    return finish(status);
}

#ifdef NEW
int flush(int depth);
int flush(int depth)
{
    simple_mark(check:new, "depth %d", depth);
    return work(depth);
}
#endif

static inline __attribute__((always_inline)) int copy(int depth)
{
    simple_mark(check:copies, "depth %d", depth);
    return work(depth);
}

int first(int depth);
int first(int depth) { return copy(depth) + 1; }
#ifndef FEWER
int second(int depth);
int second(int depth) { return copy(depth) + 2; }
#endif
