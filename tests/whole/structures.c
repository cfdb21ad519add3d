// Passes a marker 100,000 times with a structure of ten members (docs/measured/whole.md).
#include <stdint.h>
#include <stdio.h>

#include "simple_marker.h"

enum state { IDLE, BUSY };

struct point {
    int x, y;
};

struct request {
    uint32_t id;
    uint64_t sector;
    struct point at;
    const char *owner;
    enum state state;
    double share;
    uint16_t parts[4];
    _Bool ok;
    struct request *next;
    char tag[8];
};

__attribute__((noinline)) static void submit(struct request *request) {
    simple_mark(m:request, "%p{}", request);
    __asm__ volatile("" : : "r"(request) : "memory");
}

int main(void) {
    char owner[16];
    for (int i = 0; i < 100000; i++) {
        sprintf(owner, "user%d", i % 100);
        struct request r = {i, i * 8ull, {i, -i}, owner, i & 1, i / 3.0, {1, 2, 3, i}, i & 1, i % 3 ? &r : 0, "tag"};
        submit(&r);
    }
}
