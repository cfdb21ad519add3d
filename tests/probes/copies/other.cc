#include "shared.h"

int from_cxx(int a) {
    Counter counter(a);
    return in_both(Templated<int>::same(counter.next())) + static_cast<int>(Templated<long>::same(1));
}
