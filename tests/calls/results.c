/* Functions that return values of all sorts. For each the program prints the bytes of the result, and
 * `..` for a byte of padding. Compiled as C and as C++. */
#include <stdio.h>
#include <string.h>

static unsigned char next = 0x11;

/* Writes bytes that differ from each other, and are no NaN in a floating-point number. */
static void fill(void *place, unsigned long size) {
    unsigned char *bytes = (unsigned char *)place;
    for (unsigned long index = 0; index < size; index++) {
        bytes[index] = next;
        next = (unsigned char)(next * 5 + 3) & 0x3f;
    }
}

static void show(const char *name, const void *value, const void *mask, unsigned long size) {
    printf("%s ", name);
    for (unsigned long index = 0; index < size; index++) {
        if (((const unsigned char *)mask)[index])
            printf("%02x", ((const unsigned char *)value)[index] & ((const unsigned char *)mask)[index]);
        else
            printf("..");
    }
    printf("\n");
}

#define SCALARS(of)                                                                                        \
    of(result_char, char) of(result_schar, signed char) of(result_short, short)                            \
    of(result_ushort, unsigned short) of(result_int, int) of(result_unsigned, unsigned)                    \
    of(result_long, long) of(result_ulonglong, unsigned long long) of(result_int128, __int128)             \
    of(result_float, float) of(result_double, double) of(result_pointer, char *) of(result_color, enum color) \
    of(result_longdouble, long double)

#define STRUCTS(of)                                                                                        \
    of(one_char, char a;, M(a))                                                                            \
    of(two_ints, int a; int b;, M(a) M(b))                                                                 \
    of(int_char, int a; char b;, M(a) M(b))                                                                \
    of(two_longs, long a; long b;, M(a) M(b))                                                              \
    of(three_longs, long a; long b; long c;, M(a) M(b) M(c))                                               \
    of(long_char, long a; char b;, M(a) M(b))                                                              \
    of(one_float, float a;, M(a))                                                                          \
    of(one_double, double a;, M(a))                                                                        \
    of(two_doubles, double a; double b;, M(a) M(b))                                                        \
    of(three_floats, float a; float b; float c;, M(a) M(b) M(c))                                           \
    of(four_floats, float a[4];, M(a))                                                                     \
    of(four_doubles, double a[4];, M(a))                                                                   \
    of(float_int, float a; int b;, M(a) M(b))                                                              \
    of(double_int, double a; int b;, M(a) M(b))                                                            \
    of(int_double, int a; double b;, M(a) M(b))                                                            \
    of(pointer_float, void *a; float b;, M(a) M(b))                                                        \
    of(small_array, char a[3];, M(a))                                                                      \
    of(whole_array, char a[16];, M(a))                                                                     \
    of(large_array, char a[17];, M(a))                                                                     \
    of(bits, unsigned a : 3; unsigned b : 7; unsigned c : 20; short d;, B(a) B(b) B(c) M(d))               \
    of(mixed, short a; char b; char c; int d; float e;, M(a) M(b) M(c) M(d) M(e))                          \
    of(nested, struct { int x; } a; struct { float x; } b; double c;, M(a) M(b) M(c))                      \
    of(either, union { int x; float y; } a; double b;, M(a) M(b))                                          \
    of(only, union { float x; } a;, M(a))                                                                  \
    of(wide, __int128 a;, M(a))                                                                            \
    of(aligned, char a __attribute__((aligned(16)));, M(a))                                                \
    of(extended, long double a;, M(a))

#define PACKED(of)                                                                                         \
    of(packed_int, char a; int b;, M(a) M(b))                                                              \
    of(packed_long, char a; long b;, M(a) M(b))

#ifdef __cplusplus
typedef bool boolean;
#else
typedef _Bool boolean;
#endif

enum color { RED, GREEN, BLUE = 0x7fffffff };

#define M(member) memset(&mask.member, 0xff, sizeof mask.member);
#define B(member) mask.member = ~0u;

#define DEFINE_SCALAR(name, type)                                                                          \
    __attribute__((noinline)) type name(void) {                                                            \
        type value;                                                                                        \
        fill(&value, sizeof value);                                                                        \
        return value;                                                                                      \
    }
#define SHOW_SCALAR(name, type)                                                                            \
    {                                                                                                      \
        type value = name();                                                                               \
        unsigned char mask[sizeof value];                                                                  \
        memset(mask, 0xff, sizeof mask);                                                                   \
        show(#name, &value, mask, sizeof value);                                                           \
    }
#define DEFINE_STRUCT_WITH(attribute, name, members)                                                       \
    struct name {                                                                                          \
        members                                                                                            \
    } attribute;                                                                                           \
    __attribute__((noinline)) struct name result_##name(void) {                                            \
        struct name value;                                                                                 \
        fill(&value, sizeof value);                                                                        \
        return value;                                                                                      \
    }
#define DEFINE_STRUCT(name, members, masks) DEFINE_STRUCT_WITH(, name, members)
#define DEFINE_PACKED(name, members, masks) DEFINE_STRUCT_WITH(__attribute__((packed)), name, members)
#define SHOW_STRUCT(name, members, masks)                                                                  \
    {                                                                                                      \
        struct name value = result_##name(), mask;                                                         \
        memset(&mask, 0, sizeof mask);                                                                     \
        masks show("result_" #name, &value, &mask, sizeof value);                                          \
    }

#ifdef __cplusplus
extern "C" {
#endif
SCALARS(DEFINE_SCALAR)
STRUCTS(DEFINE_STRUCT)
PACKED(DEFINE_PACKED)
typedef float vector __attribute__((vector_size(16)));
DEFINE_SCALAR(result_vector, vector)
__attribute__((noinline)) boolean result_bool(void) { return next != 0; }
__attribute__((noinline)) void result_nothing(void) { fill(&next, 1); }
#ifdef __cplusplus
}

struct base {
    int a;
};
struct derived : base {
    int b;
};
/* Types with a copy constructor are returned in memory. */
struct counted {
    int a;
    counted() { fill(&a, sizeof a); }
    counted(const counted &other) : a(other.a + 1) {}
};
extern "C" {
__attribute__((noinline)) derived result_derived() {
    derived value;
    fill(&value, sizeof value);
    return value;
}
__attribute__((noinline)) counted result_counted() { return counted(); }
__attribute__((noinline)) int &result_reference() {
    static int target;
    fill(&target, sizeof target);
    return target;
}
}
#endif

int main(void) {
    SCALARS(SHOW_SCALAR)
    STRUCTS(SHOW_STRUCT)
    PACKED(SHOW_STRUCT)
    SHOW_SCALAR(result_vector, vector)
    {
        unsigned char value = result_bool(), mask = 0xff;
        show("result_bool", &value, &mask, 1);
    }
    result_nothing();
#ifdef __cplusplus
    {
        derived value = result_derived(), mask;
        memset(&mask, 0xff, sizeof mask);
        show("result_derived", &value, &mask, sizeof value);
        counted other = result_counted();
        show("result_counted", &other, &mask, sizeof other);
        show("result_reference", &result_reference(), &mask, sizeof(int));
    }
#endif
    return 0;
}
