// Spans that say when they begin and end. The variable that says it is left before the span.
#include <simple_marker.h>
#include <stdio.h>

struct said {
    const char *name;
    int number;
};

static inline void say_end(const struct said *said) {
    printf("end %s %d\n", said->name, said->number);
}

#define SPAN(name, number)                             \
    printf("begin " #name " %d\n", number);            \
    simple_span(spans:name, "number %d", number);      \
    struct said said_##name __attribute__((cleanup(say_end), unused)) = {#name, number}

// The same span in all files.
static inline int shared(int number) {
    SPAN(shared, number);
    return number + 1;
}

#ifdef __cplusplus
extern "C" {
#endif
int in_c(int how, int number);
void through_c(void (*callback)(void));
#ifdef __cplusplus
}
#endif
