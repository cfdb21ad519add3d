/* A library with a probe. */
#include "simple_marker.h"

extern const volatile unsigned __start___simple_probe[] __attribute__((visibility("hidden")));

/* Passes the probe, and returns its switch. */
unsigned call(int number)
{
    simple_probe(library:call, "%d", number);
    return *__start___simple_probe;
}
