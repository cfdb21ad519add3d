#include "comdat.h"

extern "C" int first(int a);

int first(int a) {
    simple_mark(parts:first, "%d", a);
    return shared(a);
}
