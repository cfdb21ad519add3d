// Markers in a header: in each place where the function is inlined.
#include "simple_marker.h"

static inline int clamp(int value, int limit) {
    if (value > limit) {
        simple_mark(places:clamped, "%d over %d", value, limit);
        value = limit;
    }
    return value;
}
