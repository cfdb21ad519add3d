/*
 * stores.c - places whose stores compilers delay or drop
 *
 * stores.h has the functions, once with places (plain:) and once with kept values (kept:). With
 * -DTWIN the program prints the values in place of the markers. Valid as C and as C++.
 */
#include <stdint.h>
#include <stdio.h>

#include <simple_marker.h>

typedef uint64_t u64;

struct inner {
    u64 depth;
};

struct state {
    u64 first;
    u64 n;
    struct inner inner;
};

struct value {
    u64 j;
    u64 k;
};

/* Hides a value from the optimiser. */
static u64 hidden(u64 value)
{
    __asm__ volatile("" : "+r"(value));
    return value;
}

#define NOINLINE __attribute__((__noinline__))

#if defined TWIN
#define PLAIN(name, place) ((void)printf("plain:" #name " %llu\n", (unsigned long long)(place)))
#define KEPT(name, place) ((void)printf("kept:" #name " %llu\n", (unsigned long long)(place)))
#else
#define PLAIN(name, place) simple_mark_anchor(plain:name, "%lu", place)
#define KEPT(name, place) simple_mark_keep_anchor(kept:name, "%lu", place)
#endif

#define MARK PLAIN
#define FUNCTION(name) plain_##name
#include "stores.h"
#undef MARK
#undef FUNCTION

#define MARK KEPT
#define FUNCTION(name) kept_##name
#include "stores.h"

int main(void)
{
    plain_run();
    kept_run();
    return 0;
}
