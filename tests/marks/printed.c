// Each line that begins with `printf` is marked with its own format and arguments: what a mark shows
// must be what the line prints. A line that begins with `enter` is the first of its function, which is
// marked at its entry.
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define enter printf

struct queue {
    unsigned depth;
    const char *name;
    struct queue *next;
};

enum state { IDLE, BUSY = 4 };

static jmp_buf out;

static inline int weight(int x) {
    enter("weight %d\n", x);
    return x * 3 + 1;
}

__attribute__((noinline)) static int submit(struct queue *queue, unsigned long tag, enum state state) {
    enter("submit %s %lu %d\n", queue->name, tag, state);
    queue->depth += 1;
    int heavy = weight((int)tag);
    if (queue->depth > 3) {
        queue->depth = 0;
        printf("flush %u of %s\n", queue->depth, queue->name);
    }
    for (struct queue *at = queue; at; at = at->next) {
        printf("walk %s\n", at->name);
    }
    return heavy + (int)queue->depth;
}

__attribute__((noinline)) static long fibonacci(long of) {
    enter("fibonacci %ld\n", of);
    return of < 2 ? of : fibonacci(of - 1) + fibonacci(of - 2);
}

__attribute__((noinline)) static void leave(int code) {
    enter("leave %d\n", code);
    longjmp(out, code);
}

int main(int argc, char **argv) {
    (void)argv;
    enter("main %d\n", argc);
    struct queue last = {7, "last", 0}, first = {0, "first", &last};
    int sum = 0;
    for (unsigned long tag = 0; tag < 6; tag++) {
        sum += submit(&first, tag, tag % 2 ? BUSY : IDLE);
        sum += weight(sum) & 7;
        printf("tag %lu\n", tag);
    }
    long fifth = fibonacci(5);
    printf("fifth %ld\n", fifth);
    int code = setjmp(out);
    if (code < 3)
        leave(code + 1);
    printf("sum %d\n", sum);
    return 0;
}
