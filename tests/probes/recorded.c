// What tests/rust/c_probes.rs records with the static library.
#include <simple_marker.h>
#include <string.h>
enum level { LOW = -2, HIGH = 7 };
__attribute__((noinline)) static int all(signed char a, unsigned short b, unsigned c, long d, float e, double f, const char *g, void *h) {
    simple_probe(library:all, "%hhd %hu %u %ld %f %g %s %p", a, b, c, d, e, f, g, h);
    return a;
}
__attribute__((noinline)) static void level(enum level l, const char *none) {
    simple_probe(library:level, "%d %s %s", l, none, "constant");
}
int main(void) {
    char text[600];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = 0;
    for (int i = 0; i < 3; i++) {
        all((signed char)-i, 65535, 4000000000u, -5000000000 - i, 1.5f, 2.25, i == 1 ? text : "short", (void *)0x1234);
        simple_probe(library:none, "no argument");
    }
    level(LOW, 0);
}
