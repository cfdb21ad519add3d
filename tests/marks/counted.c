// Each line that ends with `// passes N` is passed so often. Optimisers lose the beginning of copies of some
// of them: these are the smallest programs of lines that were hit too seldom in programs that other people
// wrote (`docs/measured/marks.md`).
#include <stdio.h>
#include <stdlib.h>

#define NEVER_INLINED __attribute__((noinline))

struct queue {
    int depth;
    int free;
    int log;
};

static volatile int sink;

NEVER_INLINED static int refill(struct queue *queue) {
    queue->free = queue->depth & 3; // passes 25
    return queue->free == 1; // passes 25
}

NEVER_INLINED static void use(int depth) {
    sink += depth; // passes 133
}

// The way on which `failed` is known to be 0 loses the second test.
NEVER_INLINED static int threaded(struct queue *queue, int failed) {
    if (failed == 0 && queue->free < 0) { // passes 100
        failed = refill(queue); // passes 25
    }
    if (failed == 0) { // passes 100
        if (queue->depth > 7) {
            use(queue->depth);
        }
        use(queue->free);
    }
    return failed; // passes 100
}

// A copy for an argument that is known has no code of the first line.
static inline int chosen(struct queue *queue, int kind) {
    if (kind == 2) { // passes 200
        queue->log += 1; // passes 100
    }
    return queue->log + kind;
}

// The line has no code: the value is known.
NEVER_INLINED static int known(int depth) {
    int twice = depth;
    twice = 4; // passes 100
    return twice * depth; // passes 100
}

int main(void) {
    struct queue queue = {0, 0, 0};
    int failed = 0;
    for (int i = 0; i < 100; i++) {
        queue.depth = i & 15; // passes 100
        queue.free = i % 4 ? 1 : -1; // passes 100
        failed += threaded(&queue, i % 10 == 9); // passes 100
        failed += chosen(&queue, 1); // passes 100
        failed += chosen(&queue, 2); // passes 100
        failed += known(i); // passes 100
    }
    printf("%d %d\n", failed, sink); // passes 1
    return 0;
}
