// Names that using-declarations, using-directives, other names of namespaces and enumerators have, and
// global variables of the same names.
#include "simple_marker.h"

#include <stdio.h>
#include <stdlib.h>

#define NOINLINE __attribute__((noinline))

int total = 1, held = 2, red = 3, blue = 4, kept = 5, deep = 6, inner = 7, count = 8;

namespace other {
int total = 101;
int held = 102;
int aliased = 103;
static int local = 104;
inline namespace current {
int versioned = 105;
}
namespace sub {
int deepest = 106;
}
}

namespace shortened = other;

namespace declares {
using other::total;
NOINLINE void pass(int add) {
    simple_mark_anchor(imports:declares, "%d %d", total, add);
    total += add;
}
namespace within {
NOINLINE void pass(int add) {
    simple_mark_anchor(imports:within, "%d %d", total, add);
    total += add;
}
}
enum { count = 1001 };
NOINLINE void constant(int add) {
    simple_mark_anchor(imports:constant, "%d %d", count, add);
    ::count += add + count;
}
}

namespace outer {
namespace named {
int inner = 201;
}
namespace directs {
using namespace named;
NOINLINE void pass(int add) {
    simple_mark_anchor(imports:directs, "%d %d", inner, add);
    inner += add;
}
}
}

NOINLINE void declared(int add) {
    using other::total;
    using other::local;
    simple_mark_anchor(imports:declared, "%d %d %d", total, local, add);
    total += add;
    local += add;
}

NOINLINE void block(int add) {
    held += add;
    if (add) {
        using other::held;
        held += 3;
        simple_mark_anchor(imports:inside, "%d %d", held, add);
        held += add;
        abs(add);
    }
    ::held += 2;
    ::held *= 2;
    simple_mark_anchor(imports:behind, "%d %d", held, add);
    held += add;
}

NOINLINE void directive(int add) {
    using namespace other;
    using namespace other::sub;
    simple_mark_anchor(imports:directive, "%d %d %d %d", aliased, versioned, deepest, add);
    aliased += add;
    versioned += add;
    deepest += add;
}

NOINLINE void alias(int add) {
    namespace again = other::sub;
    simple_mark_anchor(imports:alias, "%d %d %d", again::deepest, shortened::aliased, add);
    again::deepest += add;
    shortened::aliased += add;
}

NOINLINE void enumerators(int add) {
    enum { red = 301, green };
    enum colour { blue = 302 };
    simple_mark_anchor(imports:enumerators, "%d %d %d", red, blue, add);
    ::red += add + red;
    ::blue += add + blue;
}

static inline __attribute__((always_inline)) void inlined(int add) {
    enum { kept = 401 };
    simple_mark_anchor(imports:inlined, "%d %d", kept, add);
    ::kept += add + kept;
}

NOINLINE void globals(int add) {
    extern int total;
    simple_mark_anchor(imports:globals, "%d %d %d %d %d", total, red, deep, other::total, add);
    total += add;
    red += add;
    deep += add;
}

int main() {
    for (int turn = 1; turn < 4; turn++) {
        declares::pass(turn);
        declares::within::pass(turn);
        declares::constant(turn);
        outer::directs::pass(turn);
        declared(turn);
        block(turn);
        directive(turn);
        alias(turn);
        enumerators(turn);
        inlined(turn);
        inlined(turn + total);
        globals(turn);
    }
    printf("%d\n", total + other::total + held + red + blue + kept + deep + inner + count);
    return 0;
}
