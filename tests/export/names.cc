// Markers in functions with the names of C++. Each is followed by a line that says the same.
#include "simple_marker.h"

#include <cstdio>

#define NOINLINE __attribute__((noinline))
#define OPAQUE(x) __asm__ volatile("" : "+r"(x))
#define MARK(name, format, ...)                     \
    do {                                            \
        simple_mark(name, format, __VA_ARGS__);     \
        printf(#name " " format "\n", __VA_ARGS__); \
    } while (0)

namespace {
NOINLINE int hidden(int x) { OPAQUE(x); MARK(cc:anonymous, "%d", x); return x; }
}  // namespace

namespace main_ {
struct L {
    int v;
    NOINLINE L(int x) : v(x) { OPAQUE(x); MARK(cc:constructor, "%d", x); }
    NOINLINE virtual ~L() { int x = v; OPAQUE(x); MARK(cc:destructor, "%d", x); }
    NOINLINE L &operator+=(int x) { OPAQUE(x); MARK(cc:plus, "%d", x); v += x; return *this; }
    NOINLINE int operator()(int x) const { OPAQUE(x); MARK(cc:call, "%d", x); return x; }
    NOINLINE int operator[](int x) const { OPAQUE(x); MARK(cc:index, "%d", x); return x; }
    NOINLINE explicit operator int() const { int x = v; OPAQUE(x); MARK(cc:convert, "%d", x); return x; }
    NOINLINE static void *operator new(size_t n) { int x = (int)n; OPAQUE(x); MARK(cc:new, "%d", x); return ::operator new(n); }
};
template <typename T, int N> NOINLINE int templated(T t) {
    int x = (int)t + N;
    OPAQUE(x);
    MARK(cc:template, "%d", x);
    return x;
}
inline namespace v1 { NOINLINE int overloaded(int x) { OPAQUE(x); MARK(cc:overload_int, "%d", x); return x; } }
NOINLINE int overloaded(long y) { int x = (int)y; OPAQUE(x); MARK(cc:overload_long, "%d", x); return x; }
}  // namespace main_

NOINLINE bool operator<(const main_::L &a, int x) { OPAQUE(x); MARK(cc:less, "%d", x); return a.v < x; }
NOINLINE int operator""_u8(unsigned long long n) { int x = (int)n; OPAQUE(x); MARK(cc:literal, "%d", x); return x; }

int main() {
    int sum = 0;
    auto lambda = [&](int x) __attribute__((noinline)) { OPAQUE(x); MARK(cc:lambda, "%d", x); return x; };
    for (int i = 1; i < 3; i++) {
        main_::L *l = new main_::L(i);
        *l += 10 + i;
        sum += (*l)(20 + i) + (*l)[30 + i] + int(*l) + (*l < 40 + i) + hidden(50 + i) + lambda(60 + i) + 7_u8;
        sum += main_::templated<char, 3>('a') + main_::templated<long, 4>(70 + i) + main_::overloaded(80 + i) + main_::overloaded(90L + i);
        delete l;
    }
    printf("%d\r", sum);
    return 0;
}
