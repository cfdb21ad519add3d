/*
 * Random values of the plain types of C and C++, and what smark shows of them: the programs of
 * `tests/src/whole_values/c.rs` and `cpp.rs` begin with this file.
 */
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "simple_marker.h"

#define UNUSED __attribute__((__unused__)) static

/* What is passed to it is used. */
__attribute__((__noinline__)) UNUSED void used(const volatile void *value) { __asm__ volatile("" : : "r"(value) : "memory"); }

static uint64_t state;
static FILE *said;

UNUSED uint64_t number(void) {
    uint64_t mixed = state += 0x9e3779b97f4a7c15u;
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9u;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebu;
    return mixed ^ (mixed >> 31);
}

UNUSED unsigned below(unsigned bound) { return (unsigned)(number() % bound); }

UNUSED void begin(int count, char **words, uint64_t seed) {
    state = seed;
    said = fopen(count > 1 ? words[1] : "/dev/null", "w");
    if (!said) abort();
}

/* A number: an extreme one, a small one, or any bits. */
#define INTEGER(NAME, TYPE)                                                  \
    UNUSED TYPE make_##NAME(void) {                                          \
        switch (below(5)) {                                                  \
        case 0: return 0;                                                    \
        case 1: return (TYPE)(((unsigned __int128)1 << (8 * sizeof(TYPE) - 1)) - 1); \
        case 2: return (TYPE)((unsigned __int128)1 << (8 * sizeof(TYPE) - 1)); \
        case 3: return (TYPE)below(100);                                     \
        default: return (TYPE)((unsigned __int128)number() << 64 | number()); \
        }                                                                    \
    }                                                                        \
    UNUSED void show_##NAME(TYPE value) { say_integer((__int128)value, value > 0, sizeof(TYPE)); }

UNUSED void say_integer(__int128 value, bool is_positive, size_t size) {
    unsigned __int128 left = (unsigned __int128)value;
    char digits[48], *at = digits + sizeof digits;
    bool is_negative = value < 0 && !is_positive;
    (void)size;
    if (is_negative) left = -left;
    *--at = 0;
    do *--at = (char)('0' + (int)(left % 10)); while (left /= 10);
    if (is_negative) *--at = '-';
    fputs(at, said);
}

INTEGER(schar, signed char)
INTEGER(uchar, unsigned char)
INTEGER(short, short)
INTEGER(ushort, unsigned short)
INTEGER(int, int)
INTEGER(uint, unsigned)
INTEGER(long, long)
INTEGER(ulong, unsigned long)
INTEGER(llong, long long)
INTEGER(ullong, unsigned long long)
INTEGER(int128, __int128)
INTEGER(uint128, unsigned __int128)

UNUSED bool make_bool(void) { return below(2); }
UNUSED void show_bool(bool value) { fputs(value ? "true" : "false", said); }

/* All but a few letters are those of texts. */
UNUSED char make_char(void) {
    static const char letters[] = "\n\t\r\"'\\,{[&: .=\x01\x7f\xc3\xa9\xff";
    return below(4) ? (char)(' ' + below(95)) : letters[below(sizeof letters)];
}

UNUSED void say_letter(char letter, char quote) {
    unsigned char code = (unsigned char)letter;
    if (code < ' ' || code > '~') fprintf(said, "\\x%02x", code);
    else fprintf(said, "%s%c", code == (unsigned char)quote || code == '\\' ? "\\" : "", code);
}

UNUSED void show_char(char value) {
    if ((unsigned char)value > 0x7f) { show_int(value); return; }
    fputc('\'', said), say_letter(value, '\''), fputc('\'', said);
}

UNUSED void say_text(const char *text, size_t length) {
    fputc('"', said);
    while (length--) say_letter(*text++, '"');
    fputc('"', said);
}

/* The fewest digits that are the number again. */
UNUSED void show_double(double value) {
    char text[64];
    if (isnan(value)) { fputs("NaN", said); return; }
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        if (strtod(text, 0) == value) break;
    }
    fputs(text, said);
}

UNUSED void show_float(float value) {
    char text[64];
    if (isnan(value)) { fputs("NaN", said); return; }
    for (int digits = 1; digits <= 9; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        if (strtof(text, 0) == value) break;
    }
    fputs(text, said);
}

UNUSED void show_ldouble(long double value) { fprintf(said, "%.21Lg", value); }

UNUSED double make_double(void) {
    static const double known[] = {0.0, -0.0, 1.5, 1e-7, 1e16, 1e15, 0.1, NAN, INFINITY, -INFINITY, 5e-324, 1.7976931348623157e308};
    uint64_t bits = number();
    double value;
    switch (below(3)) {
    case 0: return known[below(sizeof known / sizeof *known)];
    case 1: return (below(2000) - 1000.0) / 8;
    default: memcpy(&value, &bits, sizeof value); return value;
    }
}

UNUSED float make_float(void) {
    uint32_t bits = (uint32_t)number();
    float value;
    if (below(2)) return (float)make_double();
    memcpy(&value, &bits, sizeof value);
    return value;
}

UNUSED long double make_ldouble(void) { return below(2) ? make_double() : (long double)make_double() / 3; }

UNUSED const char *const TEXTS[] = {"", "a", "two words", "\"quoted\" 'twice'", "a\nb\t\\\r", "caf\xc3\xa9", "\xff\x80", "{[(&,: = ..", "a text that is longer than the others"};

UNUSED void make_letters(char *text, size_t size) {
    for (size_t at = 0; at < size; at++) text[at] = make_char();
    if (below(2)) text[below((unsigned)size)] = 0;
}

UNUSED void show_letters(const char *text, size_t size) { say_text(text, strnlen(text, size)); }

/* A text that is there, none, or an address where none is. */
UNUSED char *make_text(void) {
    switch (below(12)) {
    case 0: return 0;
    case 1: return (char *)8;
    case 2: {
        size_t size = below(40);
        char *text = (char *)malloc(size + 1);
        for (size_t at = 0; at < size; at++) if (!(text[at] = make_char())) text[at] = ' ';
        text[size] = 0;
        return text;
    }
    default: return strdup(TEXTS[below(sizeof TEXTS / sizeof *TEXTS)]);
    }
}

/* The address, and whether something is there. */
UNUSED bool show_address(const void *address) {
    fprintf(said, "0x%lx", (unsigned long)address);
    return (uintptr_t)address > 4096;
}

UNUSED void show_text(const char *text) {
    if (show_address(text)) fputc(' ', said), say_text(text, strlen(text));
}

typedef void (*function)(void);
UNUSED void one_function(void) {}
UNUSED void other_function(void) { __asm__ volatile(""); }
UNUSED function make_function(void) {
    static const function all[] = {0, one_function, other_function};
    return all[below(3)];
}
UNUSED void show_function(function value) { show_address((const void *)(uintptr_t)value); }

/* The name of an enumerator, or of several flags. */
UNUSED bool say_enumerator(__int128 value, size_t count, const char *const *names, const __int128 *values) {
    bool are_flags = true, has_flag = false;
    const char *separator = "";
    for (size_t at = 0; at < count; at++) {
        if (values[at] == value) return fputs(names[at], said) >= 0;
        if (values[at] < 0 || values[at] & (values[at] - 1)) are_flags = false;
        if (values[at] & value) has_flag = true;
    }
    if (!are_flags || !has_flag || value <= 0) return false;
    for (size_t at = 0; at < count && value; at++) {
        if (!values[at] || (value & values[at]) != values[at]) continue;
        value &= ~values[at];
        fprintf(said, "%s%s", separator, names[at]), separator = "|";
    }
    if (value) fprintf(said, "%s0x%lx", separator, (unsigned long)value);
    return true;
}
