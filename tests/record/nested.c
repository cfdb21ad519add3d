/* Hits with a whole value that has values of all sorts. */
#include <simple_marker.h>

enum state { IDLE, BUSY };

struct owner {
    double share;
    enum state state;
};

struct request {
    unsigned long tag;
    char name[8];
    int sizes[3];
    struct owner *owner;
};

__attribute__((noipa)) void submit(struct request *request, struct owner *owner) {
    simple_mark_anchor(request:submit, "%p{**} %p", request, owner);
}

int main(void) {
    struct owner owner = {0.25, BUSY};
    struct request first = {7, "first", {1, -2, 3}, &owner}, second = {8, "second", {0, 0, 0}, 0};
    submit(&first, &owner);
    submit(&second, &owner);
    return 0;
}
