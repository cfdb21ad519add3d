// Casts in arguments, and bit-fields that are promoted to int.
#include "simple_marker.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define NOINLINE __attribute__((noinline))

struct flags {
    int first;
    unsigned three : 3;
    int five : 5;
    unsigned all : 32;
    _Bool one : 1;
};

struct node {
    int value;
    struct node *next;
    unsigned char bytes[4];
};

typedef struct node other_node;
other_node spare;

// gdb knows the types of a cast only if something else has them.
size_t spare_size;
int8_t spare_byte;

static unsigned long total;

NOINLINE void bits(struct flags *flags) {
    simple_mark_anchor(casts:bits, "%d %d %u %d", flags->three, flags->five, flags->all, flags->one);
    total += flags->three + flags->five + flags->all + flags->one;
}

NOINLINE void numbers(signed char small, short middle, long wide, unsigned char byte) {
    simple_mark_anchor(casts:numbers, "%ld %lu %u %d %d %lu %hhd", (long)small, (unsigned long)middle, (unsigned char)wide,
                       (int)wide, (short)(wide), (size_t)byte, (int8_t)byte);
    total += small + middle + wide + byte;
}

NOINLINE void pointers(void *opaque, const char *text, uintptr_t address) {
    simple_mark_anchor(casts:pointers, "%d %d %d %u %d %d", ((struct node *)opaque)->value,
                       ((const other_node *)opaque)->next->value, *(int *)opaque, ((unsigned char *)text)[1],
                       (int)*text, ((struct node *)address)->bytes[2]);
    total += ((struct node *)opaque)->value + ((struct node *)opaque)->next->value + text[0] + text[1]
             + ((struct node *)address)->bytes[2];
}

int main(int count, char **arguments) {
    long rounds = count > 1 ? atol(arguments[1]) : 4;
    for (long n = 1; n <= rounds; n++) {
        struct flags flags = { (int)n, (unsigned)n & 7, (int)(n & 15) - 8, 4000000000u + (unsigned)n, n & 1 };
        struct node last = { (int)(n * -3), 0, { 1, 2, 3, 4 } };
        struct node node = { (int)(n * 65537), &last, { 0, 0, (unsigned char)(200 + n), 0 } };
        bits(&flags);
        numbers((signed char)(-n), (short)(-300 * n), n * 0x123456789, (unsigned char)(250 + n));
        pointers(&node, n & 1 ? "\xf0\xe1" : "ab", (uintptr_t)&node);
    }
    spare.value = (int)total;
    printf("%lu\n", total);
    return 0;
}
