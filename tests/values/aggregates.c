// Structures, unions, bit-fields, arrays and chains of pointers; structures in registers, and taken apart by the optimiser.
#include "simple_marker.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __clang__
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE __attribute__((noinline, noclone))
#endif
#define KEEP(x) __asm__ volatile("" ::"r"(x) : "memory")
#define USE(x) __asm__ volatile("" ::"m"(x) : "memory")
#define OPAQUE(x) __asm__ volatile("" : "+r"(x))

struct point { int x, y; };
struct pair { long first; double second; };
struct mixed { char c; double d; short s; };
struct large { int numbers[8]; char text[12]; struct point corner; };
struct bits { unsigned a : 3; int b : 5; unsigned c : 20; unsigned long long d : 40; signed char e : 2; };
struct node { int value; struct node *next; struct { int inner; union { int i; float f; unsigned char bytes[4]; }; } named; };
struct holder { struct large *large; struct node nodes[3]; const char *name; };
union either { int i; float f; char text[8]; struct point point; };
enum kind { FIRST, SECOND = 200 };
struct tagged { enum kind kind; union { long number; struct point point; } of; int (*call)(int); };

NOINLINE int twice(int n) {
    OPAQUE(n);
    return 2 * n;
}

NOINLINE int in_registers(struct point point, struct pair pair) {
    simple_mark(aggregates:in_registers, "%d %d %ld %f", point.x, point.y, pair.first, pair.second); //~ 3 -4 5000000000 2.5
    simple_mark(aggregates:whole, "%p %p", point, pair); //~ _ _
    KEEP(point.x);
    return point.x + point.y + (int)pair.first;
}

NOINLINE int on_the_stack(struct large large, struct mixed mixed) {
    simple_mark(aggregates:on_the_stack, "%d %d %s %d %d", large.numbers[2], large.numbers[7], large.text, large.corner.y, mixed.s); //~ 20 70 "large" -8 -9
    USE(large);
    return large.numbers[1] + mixed.s;
}

NOINLINE int split(int n) {
    struct point point = {n * 2, 7};
    struct pair pair = {n, 0.5};
    point.x += twice(n);
    simple_mark(aggregates:split, "%d %d %ld %f", point.x, point.y, pair.first, pair.second); //~ 12 7 3 0.5
    simple_mark(aggregates:split:whole, "%p %p", point, pair); //~ _ _
    KEEP(point.x);
    return point.x + point.y;
}

NOINLINE int bit_fields(struct bits *bits) {
    struct bits copy = *bits;
    copy.b = -3;
    simple_mark(aggregates:bits, "%u %d %u %llu %d", bits->a, bits->b, bits->c, bits->d, bits->e); //~ _ _ _ _ _
    simple_mark(aggregates:bits:copy, "%u %d %p", copy.a, copy.b, copy); //~ _ _ _
    KEEP(bits);
    USE(copy);
    return copy.a + copy.b + (int)copy.c;
}

NOINLINE int bits_by_value(struct bits bits) {
    simple_mark(aggregates:bits:value, "%u %d %u", bits.a, bits.b, bits.c); //~ _ _ _
    KEEP(bits.a);
    return bits.a + bits.b;
}

NOINLINE int chains(struct holder *holder, struct node *list) {
    simple_mark(aggregates:chains, "%d %d %s %d %c", holder->nodes[1].value, holder->nodes[0].next->next->value, holder->name, holder->large->numbers[3], holder->name[1]); //~ 101 102 "holder" 30 111
    simple_mark(aggregates:list, "%d %d %d", list->value, list->next->value, list->next->named.inner); //~ 100 101 11
    simple_mark(aggregates:pointers, "%d %d %p %d", (*list).value, (*list->next).value, list->next, *&list->value); //~ 100 101 _ _
    KEEP(holder);
    return holder->nodes[1].value + list->next->value;
}

NOINLINE int anonymous(struct node *node) {
    simple_mark(aggregates:anonymous, "%d %d %d", node->named.i, node->named.bytes[1], node->named.inner); //~ 16909060 3 12
    KEEP(node);
    return node->named.i;
}

NOINLINE int unions(union either either, union either *other) {
    simple_mark(aggregates:unions, "%d %d %s %d", either.i, other->point.y, other->text, other->text[0]); //~ 77 _ "abc" 97
    simple_mark(aggregates:union, "%p", *other); //~ _
    KEEP(other);
    return either.i + other->point.x;
}

NOINLINE int tagged(struct tagged tagged) {
    simple_mark(aggregates:tagged, "%d %d %p", tagged.kind, tagged.of.point.y, tagged.call); //~ 200 6 _
    KEEP(&tagged);
    return tagged.of.point.y;
}

NOINLINE int arrays(int n) {
    int row[4] = {1, n, 3, n + 1};
    int table[2][3] = {{1, 2, 3}, {4, 5, n}};
    char text[] = "array";
    const char *words[] = {"zero", "one"};
    USE(row);
    USE(table);
    USE(text);
    USE(words);
    simple_mark(aggregates:arrays, "%d %d %s %s %c %d", row[3], table[1][2], text, words[1], text[4], *row); //~ 4 3 "array" "one" 121 1
    simple_mark(aggregates:array, "%p %p", row, table); //~ _ _
    KEEP(row);
    return row[0] + table[1][0] + text[0] + words[0][0];
}

// Constant members, with and without an address.
NOINLINE int constants(void) {
    struct point point = {1, 2};
    const struct pair pair = {3, 4.5};
    int numbers[3] = {7, 8, 9};
    simple_mark(aggregates:constants, "%d %d %ld %f %d", point.x, point.y, pair.first, pair.second, numbers[1]); //~ 1 2 3 4.5 8
    KEEP(0);
    return point.x + numbers[2];
}

// The optimiser passes on what a pointer would lead to.
static inline int inlined(const struct point *point, int *out) {
    simple_mark(aggregates:implicit, "%d %d %p", point->x, point->y, out); //~ 6 9 _
    KEEP(0);
    *out = point->x;
    return point->y;
}

NOINLINE int implicit(int n) {
    struct point point = {n * 2, n * n};
    int out = 0;
    return inlined(&point, &out) + out;
}

int main(void) {
    static struct large large = {{0, 10, 20, 30, 40, 50, 60, 70}, "large", {8, -8}};
    static struct holder holder = {&large, {{100, 0, {10, {1}}}, {101, 0, {11, {2}}}, {102, 0, {12, {0x01020304}}}}, "holder"};
    struct bits bits = {5, -6, 0xabcde, 0xfedcba9876, -1};
    union either either = {77}, other = {.text = "abc"};
    struct tagged made = {SECOND, {.point = {5, 6}}, twice};
    int total = 0;
    holder.nodes[0].next = &holder.nodes[1];
    holder.nodes[1].next = &holder.nodes[2];
    for (int round = 0; round < 2; round++) {
        total += in_registers((struct point){3, -4}, (struct pair){5000000000, 2.5});
        total += on_the_stack(large, (struct mixed){'c', 1.0, -9});
        total += split(3);
        total += bit_fields(&bits);
        total += bits_by_value(bits);
        total += chains(&holder, &holder.nodes[0]);
        total += anonymous(&holder.nodes[2]);
        total += unions(either, &other);
        total += tagged(made);
        total += arrays(3);
        total += constants();
        total += implicit(3);
    }
    return total == 0;
}
