// Spans in templates, lambdas and constructors, and exceptions that end them.
#include "shared.h"

namespace {

template <class T> T in_template(T value) {
    SPAN(in_template, static_cast<int>(sizeof(T)));
    return value;
}

struct Object {
    Object() {
        SPAN(constructed, 5);
        if (shared(7) == 8)
            throw 3;
    }
};

void throws() {
    SPAN(thrown, 2);
    throw 4;
}

} // namespace

int main() {
    for (int how = 0; how < 5; how++)
        in_c(how, how);
    in_template(1);
    in_template('a');
    [](int number) { SPAN(in_lambda, number); }(9);
    try {
        Object object;
    } catch (int number) {
        SPAN(caught_object, number);
    }
    try {
        through_c(throws);
    } catch (int number) {
        SPAN(caught, number);
    }
    return 0;
}
