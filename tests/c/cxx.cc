// C++: templates, lambdas, constructors, destructors, static initialisers, exceptions.
// options: -std=c++17
// runs
#include "simple_marker.h"

#include <cstdint>

namespace {
int total;

template <class T> __attribute__((noinline)) T doubled(T value) {
    // expect: name=cxx:doubled format="size %zu" args="sizeof(value)" sites=3
    simple_mark(cxx:doubled, "size %zu", sizeof(value));
    // expect: name=cxx:kept format="%d" args="static_cast<int>(value)" sites=3 flags=2 operands=^-4@\S+$
    simple_mark_keep(cxx:kept, "%d", static_cast<int>(value));
    return value + value;
}

template <class T> __attribute__((noinline)) void keeps(T value) {
    // The address says nothing of T: one of the three operands in each copy.
    // expect: name=cxx:dependent format="%zu %zu" args="value, sizeof(value)" sites=3 flags=2 operands=^(-1@\S+|8f@\S+|[48]@\S+) [48]@\S+$
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat"
    simple_mark_keep(cxx:dependent, "%zu %zu", value, sizeof(value));
#pragma GCC diagnostic pop
}

enum plain { ONE = 1 };
enum class scoped : std::int16_t { minus = -1, one = 1 };
struct bits {
    unsigned three : 3;
    bool flag : 1;
};

class object {
    int member;

public:
    explicit object(int value) : member(value) {
        // expect: name=cxx:constructed format="%d %p" args="this->member, static_cast<void *>(this)" sites=1+
        simple_mark(cxx:constructed, "%d %p", this->member, static_cast<void *>(this));
    }
    ~object() {
        // expect: name=cxx:destroyed format="%d" args="member" sites=1+ flags=2 operands=^-4@\S+$
        simple_mark_keep(cxx:destroyed, "%d", member);
    }
    __attribute__((noinline)) virtual int get() const {
        // expect: name=cxx:virtual format="%d" args="member" sites=1+
        simple_mark(cxx:virtual, "%d", member);
        return member;
    }
};

object global(1);

__attribute__((noinline)) int kept(scoped s, bits b, const int &reference, const char *text) {
    // expect: name=cxx:types format="%d %d %d %d %s %f" args="static_cast<int>(s), b.three, b.flag, reference, text, 1.0" sites=1 flags=2 operands=^-4@\S+ 4@\S+ 1@\S+ -4@\S+ [48]@\S+ 8f@\S+$
    simple_mark_keep(cxx:types, "%d %d %d %d %s %f", static_cast<int>(s), b.three, b.flag, reference, text, 1.0);
    // An enum by its underlying type.
    // expect: name=cxx:enums format="%d" args="p" sites=1 flags=2 operands=^4@\S+$
    plain p = b.flag ? ONE : plain();
    simple_mark_keep(cxx:enums, "%d", p);
    return reference;
}

__attribute__((noinline)) int thrower(int a) {
    try {
        if (a > 0)
            throw a;
    } catch (int caught) {
        // expect: name=cxx:caught format="%d" args="caught" sites=1+ flags=3 operands=^-4@\S+$
        simple_mark_keep_anchor(cxx:caught, "%d", caught);
        return caught;
    }
    return 0;
}
} // namespace

// A comdat.
inline int shared(int a) {
    // expect: name=cxx:shared format="%d" args="a" sites=1+
    simple_mark(cxx:shared, "%d", a);
    return a;
}

int main() {
    int captured = 5;
    auto lambda = [&](int a) {
        // expect: name=cxx:lambda format="%d %d" args="a, captured" sites=1+
        simple_mark(cxx:lambda, "%d %d", a, captured);
        return a + captured;
    };
    // Commas that the preprocessor takes for its own.
    // expect: name=cxx:commas format="%d" args="doubled<int>(captured)" sites=1
    simple_mark(cxx:commas, "%d", doubled<int>(captured));
    total = doubled(1) + doubled(2L) + static_cast<int>(doubled(3.0));
    keeps(static_cast<signed char>(1));
    keeps(1.0);
    keeps("text");
    object local(total);
    bits b{};
    return lambda(1) + local.get() + global.get() + kept(scoped::minus, b, captured, "x") + thrower(3) + shared(4) == 31 ? 0 : 1;
}
