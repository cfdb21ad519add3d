/* Jump tables as compilers write them: entries of one byte, of two where a case is long, an index that is checked or cannot be
   otherwise, one below zero, a table in a loop. As in exactness.c each counter stands where its marker does. */
#include <stdio.h>
#include "simple_marker.h"

#define NOINLINE __attribute__((noinline))
#define FOUR(x) x x x x

static unsigned long byte[4], loop[3], wide[3], masked[2], below, last;
volatile int sink;

NOINLINE int work(int x)
{
    __asm__ volatile("" : "+r"(x) : : "memory");
    return x * 7;
}

NOINLINE int bytes(int x)
{
    switch (x) {
    case 0: byte[0]++; simple_mark(tables:byte0, "%d", x); return work(3);
    case 1: sink = 4; return work(x + 1) ^ 3;
    case 2: byte[1]++; simple_mark(tables:byte1, "%d", x); sink = 9; return work(x) + 1;
    case 3: byte[2]++; simple_mark(tables:byte2, "%d", x); return work(x + 2) - 1;
    case 4: sink = 11; break;
    case 5: byte[3]++; simple_mark(tables:byte3, "%d", x); return work(x + 3) * work(x);
    case 6: sink = x; return work(x + 4) ^ 5;
    default: return 1;
    }
    return work(9);
}

NOINLINE int states(const unsigned char *text)
{
    int value = 0;
    for (;;) {
        switch (*text++) {
        case 0: return value;
        case 1: loop[0]++; simple_mark(tables:loop0, "%d", value); value = work(value); break;
        case 2: value += 3; sink = value; break;
        case 3: loop[1]++; simple_mark(tables:loop1, "%d", value); value ^= work(2); break;
        case 4: sink = value; value = work(value) - 1; break;
        case 5: value <<= 1; sink = value; break;
        case 6: loop[2]++; simple_mark(tables:loop2, "%d", value); value = work(value + 1); continue;
        default: value++;
        }
    }
}

#define LONG(n) FOUR(FOUR(sink = n + x; sink ^= n; FOUR(sink += x;)))
NOINLINE int halves(int x)
{
    switch (x) {
    case 10: LONG(1); return work(1);
    case 11: wide[0]++; simple_mark(tables:wide0, "%d", x); LONG(2); return work(2);
    case 12: LONG(3); return work(3) + 1;
    case 13: LONG(4); wide[1]++; simple_mark(tables:wide1, "%d", x); return work(4) + 2;
    case 14: LONG(5); return work(5) + 3;
    case 15: wide[2]++; simple_mark(tables:wide2, "%d", x); LONG(6); return work(6) + 4;
    }
    return 0;
}

NOINLINE int always(unsigned x)
{
    switch (x & 7) {
    case 0: return work(1);
    case 1: masked[0]++; simple_mark(tables:masked0, "%u", x); return work(2) + 1;
    case 2: sink = 2; return work(3) + 2;
    case 3: sink = 4; return work(3) ^ 2;
    case 4: masked[1]++; simple_mark(tables:masked1, "%u", x); sink = 6; return work(4) ^ 5;
    case 5: return work(5) + 9;
    case 6: sink = 1; return work(6) - 8;
    default: return work(7) * 3;
    }
}

NOINLINE int signs(int x)
{
    switch (x) {
    case -3: below++; simple_mark(tables:below, "%d", x); return work(1) + 6;
    case -2: return work(2);
    case -1: sink = 1; return work(2) + 1;
    case 0: sink = 3; return work(3) + 2;
    case 1: return work(4) - 2;
    case 2: last++; simple_mark(tables:last, "%d", x); return work(9) - 3;
    }
    return 8;
}

int main(void)
{
    static const unsigned char text[] = { 1, 2, 3, 3, 4, 5, 6, 6, 1, 9, 4, 3, 6, 0 };
    for (int i = 0; i < 60; i++) {
        bytes(i % 8);
        states(text + i % 10);
        halves(8 + i % 9);
        always(i);
        signs(i % 9 - 4);
    }
    for (int i = 0; i < 4; i++)
        printf("byte%d %lu\n", i, byte[i]);
    for (int i = 0; i < 3; i++)
        printf("loop%d %lu\nwide%d %lu\n", i, loop[i], i, wide[i]);
    printf("masked0 %lu\nmasked1 %lu\nbelow %lu\nlast %lu\n", masked[0], masked[1], below, last);
    return 0;
}
