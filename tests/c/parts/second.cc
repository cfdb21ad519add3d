#include "comdat.h"

extern "C" int second(int a);

int second(int a) {
    return shared(a + 1) - 1 + a;
}
