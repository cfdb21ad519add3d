// A library with a recorder of its own, which tests/probes/unloaded.c loads and unloads.
#include <simple_marker.h>
void pass(unsigned cycle, unsigned thread) {
    for (unsigned i = 0; i < 100; i++)
        simple_probe(plugin:pass, "%u %u %u %s", cycle, thread, i, "text");
}
