/*
 * simple_marker.h - markers that print
 *
 * A replacement of markers/include/simple_marker.h with the same macros. A program that is compiled
 * without optimisation and with this header, and is linked with twin.c, writes a line for each pass
 * of a marker to the file that the environment variable SIMPLE_MARKER_TWIN names:
 *
 *      NAME TAB FILE TAB LINE TAB THREAD (TAB VALUE)*
 *
 * A VALUE is the bytes of the argument in hexadecimal, in memory order. For %s, * and the bytes of
 * the text follow. Arrays decay, and all arguments are evaluated once.
 */
#ifndef SIMPLE_MARKER_H
#define SIMPLE_MARKER_H

#if defined __cplusplus
extern "C" {
#endif

struct simple_marker_value {
    const void *at;
    unsigned size;
};

void simple_marker_pass(const char *name, const char *file, unsigned line, const char *format,
                        const struct simple_marker_value *values, unsigned count);

#if defined __cplusplus
}
extern "C++" {
namespace simple_marker {
template <class T> T value(T);
}
}
#define SIMPLE_MARKER_TYPE_(argument) decltype(simple_marker::value(argument))
#else
#define SIMPLE_MARKER_TYPE_(argument) __typeof__(((void)0, (argument)))
#endif

#define simple_mark(name, ...) SIMPLE_MARKER_PASS_(#name, __VA_ARGS__, ~)
#define trace_simple(name, ...) SIMPLE_MARKER_PASS_(#name, __VA_ARGS__, ~)
#define simple_mark_anchor(name, ...) SIMPLE_MARKER_PASS_(#name, __VA_ARGS__, ~)
#define simple_mark_keep(name, ...) SIMPLE_MARKER_PASS_(#name, __VA_ARGS__, ~)
#define simple_mark_keep_anchor(name, ...) SIMPLE_MARKER_PASS_(#name, __VA_ARGS__, ~)

/* The last argument, ~, gives every list a rest. */
#define SIMPLE_MARKER_PASS_(name, fmt, ...) \
    SIMPLE_MARKER_JOIN_(SIMPLE_MARKER_PASS_, SIMPLE_MARKER_ARITY_(__VA_ARGS__))(name, fmt, __VA_ARGS__)
#define SIMPLE_MARKER_PASS_0(name, fmt, ...) simple_marker_pass(name, __FILE__, __LINE__, fmt, 0, 0)
#define SIMPLE_MARKER_PASS_SOME(name, fmt, ...)                                                                      \
    __extension__({                                                                                                  \
        SIMPLE_MARKER_EACH_(SIMPLE_MARKER_VARIABLE_, __VA_ARGS__)                                                    \
        const struct simple_marker_value simple_marker_values[] = { SIMPLE_MARKER_EACH_(SIMPLE_MARKER_VALUE_,        \
                                                                                       __VA_ARGS__) };               \
        simple_marker_pass(name, __FILE__, __LINE__, fmt, simple_marker_values,                                      \
                           sizeof simple_marker_values / sizeof simple_marker_values[0]);                            \
    })
#define SIMPLE_MARKER_VARIABLE_(n, argument) SIMPLE_MARKER_TYPE_(argument) simple_marker_##n = (argument);
#define SIMPLE_MARKER_VALUE_(n, argument) { &simple_marker_##n, sizeof simple_marker_##n },

#define SIMPLE_MARKER_JOIN_(a, b) SIMPLE_MARKER_JOIN_EXPANDED_(a, b)
#define SIMPLE_MARKER_JOIN_EXPANDED_(a, b) a##b
#define SIMPLE_MARKER_34TH_(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z, aa, ab, ac, \
                            ad, ae, af, ag, at34, ...)                                                               \
    at34
/* Whether there is an argument before the ~. */
#define SIMPLE_MARKER_ARITY_(...) \
    SIMPLE_MARKER_34TH_(__VA_ARGS__, SOME, SOME, SOME, SOME, SOME, SOME, SOME, SOME, SOME, SOME, SOME, SOME, SOME, SOME, SOME, SOME, SOME, SOME, SOME, SOME, SOME, SOME, SOME, SOME, SOME, SOME, SOME, SOME, SOME, SOME, SOME, SOME, 0, ~)
#define SIMPLE_MARKER_COUNT_(...) \
    SIMPLE_MARKER_34TH_(__VA_ARGS__, 32, 31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0, ~)
#define SIMPLE_MARKER_EACH_(m, ...) \
    SIMPLE_MARKER_JOIN_(SIMPLE_MARKER_EACH_, SIMPLE_MARKER_COUNT_(__VA_ARGS__))(m, __VA_ARGS__)
#define SIMPLE_MARKER_EACH_1(m, a, ...) m(1, a)
#define SIMPLE_MARKER_EACH_2(m, a1, a2, ...) SIMPLE_MARKER_EACH_1(m, a1, ~) m(2, a2)
#define SIMPLE_MARKER_EACH_3(m, a1, a2, a3, ...) SIMPLE_MARKER_EACH_2(m, a1, a2, ~) m(3, a3)
#define SIMPLE_MARKER_EACH_4(m, a1, a2, a3, a4, ...) SIMPLE_MARKER_EACH_3(m, a1, a2, a3, ~) m(4, a4)
#define SIMPLE_MARKER_EACH_5(m, a1, a2, a3, a4, a5, ...) SIMPLE_MARKER_EACH_4(m, a1, a2, a3, a4, ~) m(5, a5)
#define SIMPLE_MARKER_EACH_6(m, a1, a2, a3, a4, a5, a6, ...) SIMPLE_MARKER_EACH_5(m, a1, a2, a3, a4, a5, ~) m(6, a6)
#define SIMPLE_MARKER_EACH_7(m, a1, a2, a3, a4, a5, a6, a7, ...) SIMPLE_MARKER_EACH_6(m, a1, a2, a3, a4, a5, a6, ~) m(7, a7)
#define SIMPLE_MARKER_EACH_8(m, a1, a2, a3, a4, a5, a6, a7, a8, ...) SIMPLE_MARKER_EACH_7(m, a1, a2, a3, a4, a5, a6, a7, ~) m(8, a8)
#define SIMPLE_MARKER_EACH_9(m, a1, a2, a3, a4, a5, a6, a7, a8, a9, ...) SIMPLE_MARKER_EACH_8(m, a1, a2, a3, a4, a5, a6, a7, a8, ~) m(9, a9)
#define SIMPLE_MARKER_EACH_10(m, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, ...) SIMPLE_MARKER_EACH_9(m, a1, a2, a3, a4, a5, a6, a7, a8, a9, ~) m(10, a10)
#define SIMPLE_MARKER_EACH_11(m, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, ...) SIMPLE_MARKER_EACH_10(m, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, ~) m(11, a11)
#define SIMPLE_MARKER_EACH_12(m, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, ...) SIMPLE_MARKER_EACH_11(m, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, ~) m(12, a12)
#define SIMPLE_MARKER_EACH_13(m, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, ...) SIMPLE_MARKER_EACH_12(m, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, ~) m(13, a13)
#define SIMPLE_MARKER_EACH_14(m, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, ...) SIMPLE_MARKER_EACH_13(m, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, ~) m(14, a14)
#define SIMPLE_MARKER_EACH_15(m, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, ...) SIMPLE_MARKER_EACH_14(m, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, ~) m(15, a15)
#define SIMPLE_MARKER_EACH_16(m, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, ...) SIMPLE_MARKER_EACH_15(m, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, ~) m(16, a16)
#define SIMPLE_MARKER_EACH_17(m, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, ...) SIMPLE_MARKER_EACH_16(m, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, ~) m(17, a17)
#define SIMPLE_MARKER_EACH_18(m, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18, ...) SIMPLE_MARKER_EACH_17(m, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, ~) m(18, a18)
#define SIMPLE_MARKER_EACH_19(m, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18, a19, ...) SIMPLE_MARKER_EACH_18(m, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18, ~) m(19, a19)
#define SIMPLE_MARKER_EACH_20(m, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18, a19, a20, ...) SIMPLE_MARKER_EACH_19(m, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18, a19, ~) m(20, a20)
#define SIMPLE_MARKER_EACH_21(m, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18, a19, a20, a21, ...) SIMPLE_MARKER_EACH_20(m, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18, a19, a20, ~) m(21, a21)
#define SIMPLE_MARKER_EACH_22(m, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18, a19, a20, a21, a22, ...) SIMPLE_MARKER_EACH_21(m, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18, a19, a20, a21, ~) m(22, a22)
#define SIMPLE_MARKER_EACH_23(m, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18, a19, a20, a21, a22, a23, ...) SIMPLE_MARKER_EACH_22(m, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18, a19, a20, a21, a22, ~) m(23, a23)
#define SIMPLE_MARKER_EACH_24(m, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18, a19, a20, a21, a22, a23, a24, ...) SIMPLE_MARKER_EACH_23(m, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18, a19, a20, a21, a22, a23, ~) m(24, a24)
#define SIMPLE_MARKER_EACH_25(m, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18, a19, a20, a21, a22, a23, a24, a25, ...) SIMPLE_MARKER_EACH_24(m, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18, a19, a20, a21, a22, a23, a24, ~) m(25, a25)
#define SIMPLE_MARKER_EACH_26(m, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18, a19, a20, a21, a22, a23, a24, a25, a26, ...) SIMPLE_MARKER_EACH_25(m, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18, a19, a20, a21, a22, a23, a24, a25, ~) m(26, a26)
#define SIMPLE_MARKER_EACH_27(m, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18, a19, a20, a21, a22, a23, a24, a25, a26, a27, ...) SIMPLE_MARKER_EACH_26(m, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18, a19, a20, a21, a22, a23, a24, a25, a26, ~) m(27, a27)
#define SIMPLE_MARKER_EACH_28(m, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18, a19, a20, a21, a22, a23, a24, a25, a26, a27, a28, ...) SIMPLE_MARKER_EACH_27(m, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18, a19, a20, a21, a22, a23, a24, a25, a26, a27, ~) m(28, a28)
#define SIMPLE_MARKER_EACH_29(m, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18, a19, a20, a21, a22, a23, a24, a25, a26, a27, a28, a29, ...) SIMPLE_MARKER_EACH_28(m, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18, a19, a20, a21, a22, a23, a24, a25, a26, a27, a28, ~) m(29, a29)
#define SIMPLE_MARKER_EACH_30(m, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18, a19, a20, a21, a22, a23, a24, a25, a26, a27, a28, a29, a30, ...) SIMPLE_MARKER_EACH_29(m, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18, a19, a20, a21, a22, a23, a24, a25, a26, a27, a28, a29, ~) m(30, a30)
#define SIMPLE_MARKER_EACH_31(m, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18, a19, a20, a21, a22, a23, a24, a25, a26, a27, a28, a29, a30, a31, ...) SIMPLE_MARKER_EACH_30(m, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18, a19, a20, a21, a22, a23, a24, a25, a26, a27, a28, a29, a30, ~) m(31, a31)
#define SIMPLE_MARKER_EACH_32(m, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18, a19, a20, a21, a22, a23, a24, a25, a26, a27, a28, a29, a30, a31, a32, ...) SIMPLE_MARKER_EACH_31(m, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18, a19, a20, a21, a22, a23, a24, a25, a26, a27, a28, a29, a30, a31, ~) m(32, a32)

#endif /* SIMPLE_MARKER_H */
