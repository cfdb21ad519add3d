// What tests/rust/c_probes.rs handles with the static library.
#include <simple_marker.h>
#include <simple_probe_handle.h>
#include <stdio.h>
#include <string.h>
static void print(const struct simple_probe_hit *hit, void *data) {
    printf("%s%s \"%s\" (%s) %s:%u", (const char *)data, hit->name, hit->format, hit->arguments, strrchr(hit->file, '/') + 1, hit->line);
    for (unsigned i = 0; i < hit->count; i++) {
        const struct simple_probe_value *value = &hit->values[i];
        switch (value->kind) {
        case SIMPLE_PROBE_SIGNED: printf(" i%lld", value->value.i); break;
        case SIMPLE_PROBE_UNSIGNED: printf(" u%llu", value->value.u); break;
        case SIMPLE_PROBE_FLOAT: printf(" f%g", value->value.f); break;
        case SIMPLE_PROBE_POINTER: printf(" p%p", value->value.p); break;
        case SIMPLE_PROBE_TEXT: printf(" s%.*s", (int)value->length, value->value.s); break;
        case SIMPLE_PROBE_WHOLE: printf(" v%zu", value->length); break;
        }
    }
    puts("");
}
static void pass(int n) {
    simple_probe(handled:all, "%hhd %u %f %s %p", (signed char)-n, 4000000000u, n / 4.0f, "text", (void *)0x1234);
    simple_probe(handled:none, "none");
}
int main(void) {
    char first[] = "1: ", second[] = "2: ";
    pass(0);
    printf("%d\n", simple_probe_handle("handled:*", print, first));
    pass(1);
    printf("%d\n", simple_probe_handle("handled:all", print, second));
    pass(2);
    printf("%d\n", simple_probe_handle("*:all", 0, 0));
    pass(3);
    printf("%d %d\n", simple_probe_handle("other:*", print, first), simple_probe_handle("\xff", print, first));
}
