// Each way to leave a block of C, and an exception of C++ that passes.
#include "shared.h"

int in_c(int how, int number) {
    SPAN(outer, number);
    for (int i = 0; i < 2; i++) {
        SPAN(inner, 10 * number + i);
        if (how == 1)
            break;
        if (how == 2)
            goto out;
        if (how == 3)
            return shared(number);
        if (how == 4)
            continue;
        shared(i);
    }
out:
    return number;
}

void through_c(void (*callback)(void)) {
    SPAN(passed, 1);
    callback();
}
