// Markers in functions with the names of C++. Each is followed by a line that says the same.
#include "simple_marker.h"

#include <cstdio>
#include <string>
#ifdef __cpp_impl_coroutine
#include <coroutine>
#endif

#define NOINLINE __attribute__((noinline))
#define OPAQUE(x) __asm__ volatile("" : "+r"(x))
#define MARK(name, format, ...)                     \
    do {                                            \
        simple_mark(name, format, __VA_ARGS__);     \
        printf(#name " " format "\n", __VA_ARGS__); \
    } while (0)
#define KEEP(name, format, ...)                      \
    do {                                             \
        simple_mark_keep(name, format, __VA_ARGS__); \
        printf(#name " " format "\n", __VA_ARGS__);  \
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

// A tag of the ABI, a thunk (`_ZThn16_..`), and what runs before `main` (`_GLOBAL__sub_I_..`).
NOINLINE std::string tagged(int x) { OPAQUE(x); MARK(cc:tagged, "%d", x); return std::string(x, 'x'); }
struct first { virtual int own(int x) { return x; } };
struct second { int v = 3; virtual int other(int x) { return x; } };
struct both : first, second {
    int other(int x) override { x += v; OPAQUE(x); MARK(cc:thunk, "%d", x); return x; }
};
second *made() { static both it; return &it; }
static int early() { int x = 9; OPAQUE(x); MARK(cc:early, "%d", x); return x; }
int started = early();

#ifdef __cpp_impl_coroutine
struct task {
    struct promise_type {
        task get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
        std::suspend_always initial_suspend() noexcept { return {}; }
        std::suspend_always final_suspend() noexcept { return {}; }
        void return_void() {}
        void unhandled_exception() {}
    };
    std::coroutine_handle<promise_type> handle;
};
struct leaves { ~leaves() { int x = started; OPAQUE(x); MARK(cc:leaves, "%d", x); } };
// gcc makes `.actor` and `.destroy` of it.
task coroutine(int from) {
    int x = from;
    leaves at_its_end;
    OPAQUE(x);
    KEEP(cc:started, "%d", x);
    co_await std::suspend_always{};
    x = from + 1;
    OPAQUE(x);
    KEEP(cc:resumed, "%d", x);
}
static void resume(int x) {
    task task = coroutine(x);
    task.handle.resume();
    task.handle.resume();
    task.handle.destroy();
}
#else
static void resume(int) {}
#endif

int main() {
    int sum = 0;
    auto lambda = [&](int x) __attribute__((noinline)) { OPAQUE(x); MARK(cc:lambda, "%d", x); return x; };
    for (int i = 1; i < 3; i++) {
        main_::L *l = new main_::L(i);
        *l += 10 + i;
        sum += (*l)(20 + i) + (*l)[30 + i] + int(*l) + (*l < 40 + i) + hidden(50 + i) + lambda(60 + i) + 7_u8;
        sum += main_::templated<char, 3>('a') + main_::templated<long, 4>(70 + i) + main_::overloaded(80 + i) + main_::overloaded(90L + i);
        sum += (int)tagged(100 + i).size() + made()->other(110 + i);
        resume(120 + i);
        delete l;
    }
    printf("%d\r", sum);
    return 0;
}
