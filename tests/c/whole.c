// Whole values: %p{..} of a pointer. -Wformat accepts it, and the code is that of a %p.
// same-code: -DADDRESS
#include "simple_marker.h"

#if defined ADDRESS
#define FORM(braces) ""
#else
#define FORM(braces) braces
#endif

struct owner {
    int tag;
    const char *name;
};

struct queue {
    unsigned depth;
    struct owner owner;
};

extern void touch(struct queue *);

void submit(struct queue *queue, int number) {
    struct queue local = *queue;
    // expect: name=whole:value format="%p{} is %p{*}" args="queue, &local" sites=1
    simple_mark(whole:value, "%p" FORM("{}") " is %p" FORM("{*}"), queue, &local);
    touch(queue);
    // expect: name=whole:members format="%p{depth, owner.tag} at %p" args="queue, queue" sites=1
    simple_mark(whole:members, "%p" FORM("{depth, owner.tag}") " at %p", queue, queue);
    touch(&local);
    // expect: name=whole:formatted format="%p{:#06x} {}" args="&number" sites=1
    simple_mark(whole:formatted, "%p" FORM("{:#06x}") " {}", &number);
    // expect: name=whole:kept format="%p{}" args="queue" sites=1
    simple_mark_keep(whole:kept, "%p" FORM("{}"), queue);
    touch(queue);
}
