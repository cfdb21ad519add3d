/*
 * simple_probe.h - probes: markers with a switch
 *
 * simple_marker.h includes this file and describes simple_probe.
 *
 * The statements of a probe
 *
 *      TEST_       Tests the switch.
 *      SITE_       If it is on: the nop, the call of the recorder, the site record and the
 *                  descriptor. It has operands.
 *      STRINGS_    The declaration and the strings. It has no operands, because then % has no
 *                  meaning. gcc assumes that such a statement reads and writes memory. Under gcc it
 *                  is in a block of its own, which SITE_ could jump to but never does, and which
 *                  does not end. So the compiler need not load anything again after a probe.
 *
 * They refer to each other by symbols with the marker's name, line and file, so their order does not
 * matter. The descriptor's symbol is weak and hidden, and in a section group: the linker keeps one
 * for all files. Symbols that start with .L exist once in each input of the assembler.
 */
#ifndef SIMPLE_PROBE_H
#define SIMPLE_PROBE_H

#if !defined SIMPLE_MARKER_H
#error "include simple_marker.h, which includes simple_probe.h"
#endif

#if defined __clang__
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wgnu-zero-variadic-macro-arguments"
#endif

#define simple_probe(name, ...) \
    SIMPLE_MARKER_JOIN_(SIMPLE_MARKER_PROBE_, SIMPLE_MARKER_ARITY_(__VA_ARGS__))(#name, ##__VA_ARGS__)

#if defined __clang__
#pragma clang diagnostic pop
#endif

#define SIMPLE_MARKER_PROBE_0(name, fmt)                                    \
    __extension__({                                                         \
        SIMPLE_MARKER_CHECK_STRINGS_(name, fmt)                             \
        SIMPLE_MARKER_CHECK_PROBE_                                          \
        if (0)                                                              \
            simple_marker_check_format(fmt " ");                            \
        SIMPLE_MARKER_EMIT_PROBE_(SIMPLE_MARKER_NONE_, 5, name, fmt, "", ); \
    })

#define SIMPLE_MARKER_PROBE_SOME(name, fmt, ...)                                                   \
    __extension__({                                                                                \
        SIMPLE_MARKER_CHECK_STRINGS_(name, fmt)                                                    \
        SIMPLE_MARKER_CHECK_PROBE_                                                                 \
        SIMPLE_MARKER_EACH_(SIMPLE_MARKER_CHECK_ARGUMENT_, __VA_ARGS__)                            \
        SIMPLE_MARKER_ASSERT_(SIMPLE_MARKER_WORDS_(SIMPLE_MARKER_EACH_, __VA_ARGS__) <= 12,        \
                              "simple marker: a probe takes 12 words, and a text is two of them"); \
        SIMPLE_MARKER_ASSERT_(SIMPLE_MARKER_SHOWN_POINTERS_(fmt) <=                                \
                                  (0 SIMPLE_MARKER_EACH_(SIMPLE_MARKER_IS_ADDRESS_, __VA_ARGS__)), \
                              "simple marker: a char * is text: cast it to void * for %p");        \
        if (0)                                                                                     \
            simple_marker_check_format(fmt " ", __VA_ARGS__);                                      \
        SIMPLE_MARKER_EMIT_PROBE_(SIMPLE_MARKER_EACH_, 7, name, fmt, #__VA_ARGS__, __VA_ARGS__);   \
    })

/* Instead of SIMPLE_MARKER_EACH_, for a probe without arguments. */
#define SIMPLE_MARKER_NONE_(what, ...)
#define SIMPLE_MARKER_NONE_REVERSED_(what, ...)

#define SIMPLE_MARKER_EACH_REVERSED_(what, ...) \
    SIMPLE_MARKER_JOIN_(SIMPLE_MARKER_REVERSED_, SIMPLE_MARKER_COUNT_(__VA_ARGS__))(what, __VA_ARGS__)
#define SIMPLE_MARKER_REVERSED_MORE_THAN_8_ARGUMENTS(m, ...)
#define SIMPLE_MARKER_REVERSED_1(m, a) m(1, a)
#define SIMPLE_MARKER_REVERSED_2(m, a, b) m(2, b) m(1, a)
#define SIMPLE_MARKER_REVERSED_3(m, a, b, c) m(3, c) m(2, b) m(1, a)
#define SIMPLE_MARKER_REVERSED_4(m, a, b, c, d) m(4, d) m(3, c) m(2, b) m(1, a)
#define SIMPLE_MARKER_REVERSED_5(m, a, b, c, d, e) m(5, e) m(4, d) m(3, c) m(2, b) m(1, a)
#define SIMPLE_MARKER_REVERSED_6(m, a, b, c, d, e, f) m(6, f) m(5, e) m(4, d) m(3, c) m(2, b) m(1, a)
#define SIMPLE_MARKER_REVERSED_7(m, a, b, c, d, e, f, g) m(7, g) m(6, f) m(5, e) m(4, d) m(3, c) m(2, b) m(1, a)
#define SIMPLE_MARKER_REVERSED_8(m, a, b, c, d, e, f, g, h) \
    m(8, h) m(7, g) m(6, f) m(5, e) m(4, d) m(3, c) m(2, b) m(1, a)

#if defined __clang__
#define SIMPLE_MARKER_CHECK_PROBE_
#else
/* HOT_ and SITE_ contain the name of the file, and % { | } have a meaning in them. */
#define SIMPLE_MARKER_CHECK_PROBE_                                                     \
    SIMPLE_MARKER_ASSERT_(__builtin_strcspn(__FILE__, "%{|}") == sizeof(__FILE__) - 1, \
                          "simple marker: a probe's file must not have % { | } in its name");
#endif

/* A pointer to characters is text. */
#if defined __cplusplus
extern "C++" {
namespace simple_marker {
template <class T> struct is_text {
    static constexpr bool yes = false;
};
template <class T> struct is_character {
    static constexpr bool yes = false;
};
template <> struct is_character<char> {
    static constexpr bool yes = true;
};
template <> struct is_character<signed char> {
    static constexpr bool yes = true;
};
template <> struct is_character<unsigned char> {
    static constexpr bool yes = true;
};
template <class T> struct is_text<T *> {
    static constexpr bool yes = is_character<T>::yes;
};
template <class T> struct is_text<const T *> {
    static constexpr bool yes = is_character<T>::yes;
};
} // namespace simple_marker
}
#define SIMPLE_MARKER_IS_TEXT_(type) simple_marker::is_text<type>::yes
#define SIMPLE_MARKER_IS_POINTER_(type) \
    (simple_marker::is_core<type>::yes && !simple_marker::is_core<type>::integer)
#else
#define SIMPLE_MARKER_IS_TEXT_(type)                                                                                 \
    (__builtin_types_compatible_p(type, char *) || __builtin_types_compatible_p(type, const char *) ||               \
     __builtin_types_compatible_p(type, signed char *) || __builtin_types_compatible_p(type, const signed char *) || \
     __builtin_types_compatible_p(type, unsigned char *) || __builtin_types_compatible_p(type, const unsigned char *))
#define SIMPLE_MARKER_IS_POINTER_(type) (SIMPLE_MARKER_TYPE_CLASS_(type) == 5)
#endif

/*
 * The number of pointers that the format shows with %p, and so must not be text. In C, those without
 * flags and width among the first 12 per cent signs: gcc and clang fold these functions.
 */
#if defined __cplusplus
extern "C++" {
namespace simple_marker {
constexpr int shown_pointers(const char *format, bool conversion = false) {
    return *format == 0 ? 0
           : !conversion ? shown_pointers(format + 1, *format == '%')
           : *format == '%' ? shown_pointers(format + 1)
           : *format == 'p' ? 1 + shown_pointers(format + 1)
                            : shown_pointers(format + 1, *format < 'A' || *format == 'l' || *format == 'h' ||
                                                             *format == 'j' || *format == 'z' || *format == 't');
}
} // namespace simple_marker
}
/* Compilers limit the depth of a recursion to 512. */
#define SIMPLE_MARKER_SHOWN_POINTERS_(fmt) (sizeof(fmt) > 500 ? 0 : simple_marker::shown_pointers(fmt))
#else
#define SIMPLE_MARKER_SHOWN_POINTERS_(fmt)                                                                \
    (SIMPLE_MARKER_IS_P_(SIMPLE_MARKER_SIGN_1_(fmt)) + SIMPLE_MARKER_IS_P_(SIMPLE_MARKER_SIGN_2_(fmt)) +  \
     SIMPLE_MARKER_IS_P_(SIMPLE_MARKER_SIGN_3_(fmt)) + SIMPLE_MARKER_IS_P_(SIMPLE_MARKER_SIGN_4_(fmt)) +  \
     SIMPLE_MARKER_IS_P_(SIMPLE_MARKER_SIGN_5_(fmt)) + SIMPLE_MARKER_IS_P_(SIMPLE_MARKER_SIGN_6_(fmt)) +  \
     SIMPLE_MARKER_IS_P_(SIMPLE_MARKER_SIGN_7_(fmt)) + SIMPLE_MARKER_IS_P_(SIMPLE_MARKER_SIGN_8_(fmt)) +  \
     SIMPLE_MARKER_IS_P_(SIMPLE_MARKER_SIGN_9_(fmt)) + SIMPLE_MARKER_IS_P_(SIMPLE_MARKER_SIGN_10_(fmt)) + \
     SIMPLE_MARKER_IS_P_(SIMPLE_MARKER_SIGN_11_(fmt)) + SIMPLE_MARKER_IS_P_(SIMPLE_MARKER_SIGN_12_(fmt)))
#define SIMPLE_MARKER_SIGN_1_(fmt) __builtin_strchr(fmt "%%%%%%%%%%%%%", '%')
#define SIMPLE_MARKER_SIGN_2_(fmt) __builtin_strchr(SIMPLE_MARKER_SIGN_1_(fmt) + 1, '%')
#define SIMPLE_MARKER_SIGN_3_(fmt) __builtin_strchr(SIMPLE_MARKER_SIGN_2_(fmt) + 1, '%')
#define SIMPLE_MARKER_SIGN_4_(fmt) __builtin_strchr(SIMPLE_MARKER_SIGN_3_(fmt) + 1, '%')
#define SIMPLE_MARKER_SIGN_5_(fmt) __builtin_strchr(SIMPLE_MARKER_SIGN_4_(fmt) + 1, '%')
#define SIMPLE_MARKER_SIGN_6_(fmt) __builtin_strchr(SIMPLE_MARKER_SIGN_5_(fmt) + 1, '%')
#define SIMPLE_MARKER_SIGN_7_(fmt) __builtin_strchr(SIMPLE_MARKER_SIGN_6_(fmt) + 1, '%')
#define SIMPLE_MARKER_SIGN_8_(fmt) __builtin_strchr(SIMPLE_MARKER_SIGN_7_(fmt) + 1, '%')
#define SIMPLE_MARKER_SIGN_9_(fmt) __builtin_strchr(SIMPLE_MARKER_SIGN_8_(fmt) + 1, '%')
#define SIMPLE_MARKER_SIGN_10_(fmt) __builtin_strchr(SIMPLE_MARKER_SIGN_9_(fmt) + 1, '%')
#define SIMPLE_MARKER_SIGN_11_(fmt) __builtin_strchr(SIMPLE_MARKER_SIGN_10_(fmt) + 1, '%')
#define SIMPLE_MARKER_SIGN_12_(fmt) __builtin_strchr(SIMPLE_MARKER_SIGN_11_(fmt) + 1, '%')
#define SIMPLE_MARKER_IS_P_(sign) (__builtin_memcmp(sign, "%p", 2) == 0)
#endif
#define SIMPLE_MARKER_IS_ADDRESS_(n, argument)                    \
    +(SIMPLE_MARKER_IS_POINTER_(SIMPLE_MARKER_TYPE_(argument)) && \
      !SIMPLE_MARKER_IS_TEXT_(SIMPLE_MARKER_TYPE_(argument)))

/* The words, the arguments, and a bit for each argument that is text, as sums over the arguments. */
#define SIMPLE_MARKER_WORDS_(each, ...) (0 each(SIMPLE_MARKER_WORDS_OF_, __VA_ARGS__))
#define SIMPLE_MARKER_WORDS_OF_(n, argument) +(SIMPLE_MARKER_IS_TEXT_(SIMPLE_MARKER_TYPE_(argument)) ? 2 : 1)
#define SIMPLE_MARKER_ARGUMENTS_(each, ...) (0 each(SIMPLE_MARKER_ARGUMENTS_OF_, __VA_ARGS__))
#define SIMPLE_MARKER_ARGUMENTS_OF_(n, argument) +1
#define SIMPLE_MARKER_TEXTS_(each, ...) (0 each(SIMPLE_MARKER_TEXTS_OF_, __VA_ARGS__))
#define SIMPLE_MARKER_TEXTS_OF_(n, argument) +(SIMPLE_MARKER_IS_TEXT_(SIMPLE_MARKER_TYPE_(argument)) ? 1 << (n - 1) : 0)

#if defined SIMPLE_MARKER_OFF
#define SIMPLE_MARKER_EMIT_PROBE_(each, flags, name, fmt, args, ...)
#else

/* Assembler text for the symbol of kind `of`, inside a macro with the parameters of its name. */
#define SIMPLE_MARKER_SYMBOL_(of) "\"" of ":\\name:\\line:\\file\""
#define SIMPLE_MARKER_SWITCH_ SIMPLE_MARKER_SYMBOL_("simple_probe")

/* Defines an assembler macro, expands it for a marker, and removes it. */
#define SIMPLE_MARKER_WITH_NAME_(name, file, line, text)      \
    "\t.macro simple_marker_named name, line, file\n" text    \
    "\t.endm\n"                                               \
    "\tsimple_marker_named " #name ", " #line ", " #file "\n" \
    "\t.purgem simple_marker_named\n"

#include "simple_probe_target.h"

#if defined SIMPLE_MARKER_RECORD_
#define SIMPLE_MARKER_PROBE_STRINGS_
#else
#define SIMPLE_MARKER_RECORD_(name, file, line, each, ...)
#define SIMPLE_MARKER_RECORD_CLOBBERS_
#endif

/*
 * The size that the argument is promoted to, and the bits of SHAPE_ from bit 4. Bit 6 is set for
 * text, bit 7 for another pointer.
 */
#define SIMPLE_MARKER_PROBE_SHAPE_(type)                                                                   \
    ((sizeof(type) > 4 || SIMPLE_MARKER_IS_FLOAT_(type) ? 8U : 4U) | (SIMPLE_MARKER_SHAPE_(type) & ~15U) | \
     (SIMPLE_MARKER_IS_TEXT_(type) ? 64U : 0U) |                                                           \
     (SIMPLE_MARKER_IS_POINTER_(type) && !SIMPLE_MARKER_IS_TEXT_(type) ? 128U : 0U))

/* The space before all but the first, the sign and the size. */
#define SIMPLE_MARKER_SIZE_OF_(n)                                           \
    "\t.if " #n " > 1\n\t.ascii \" \"\n\t.endif\n"                          \
    "\t.if %c[simple_marker_shape_" #n "] & 16\n\t.ascii \"-\"\n\t.endif\n" \
    "\t.byte 48 + (%c[simple_marker_shape_" #n "] & 15)\n"

/* The entry of the types that the recorder reads. */
#define SIMPLE_MARKER_PROBE_TYPE_(n, argument)                              \
    "\t.if %c[simple_marker_shape_" #n "] & 64\n"                           \
    "\t.if " #n " > 1\n\t.ascii \" \"\n\t.endif\n"                          \
    "\t.ascii \"s\"\n"                                                      \
    "\t.else\n" SIMPLE_MARKER_SIZE_OF_(n) "\t.endif\n"                      \
    "\t.if %c[simple_marker_shape_" #n "] & 32\n\t.ascii \"f\"\n\t.endif\n" \
    "\t.if %c[simple_marker_shape_" #n "] & 128\n\t.ascii \"p\"\n\t.endif\n"

#define SIMPLE_MARKER_PROBE_STRINGS_TEXT_(name, file, line, fmt, args)                                                 \
    SIMPLE_MARKER_DECLARATION_("%", name, file, line, fmt, args)                                                       \
    "\t.if .Lsimple_marker_new\n"                                                                                      \
    "\t.macro simple_marker_label of, name, line, file\n" SIMPLE_MARKER_SYMBOL_(".Lsimple_marker_\\of") ":\n\t.endm\n" \
    SIMPLE_MARKER_STRINGS_SECTION_("%")                                                                                \
    SIMPLE_MARKER_STRING_OF_("name", name, name, file, line)                                                           \
    SIMPLE_MARKER_STRING_OF_("file", file, name, file, line)                                                           \
    SIMPLE_MARKER_STRING_OF_("format", fmt, name, file, line)                                                          \
    SIMPLE_MARKER_STRING_OF_("args", args, name, file, line)                                                           \
    "\t.popsection\n"                                                                                                  \
    "\t.purgem simple_marker_label\n"                                                                                  \
    SIMPLE_MARKER_RECORDED_STRINGS_(name, file, line, fmt, args)                                                       \
    "\t.endif\n"
#define SIMPLE_MARKER_STRING_OF_(of, text, name, file, line)          \
    "\tsimple_marker_label " of ", " #name ", " #line ", " #file "\n" \
    "\t.ascii " #text "\n\t.byte 0\n"

/* The strings of the descriptor are loaded, so that the recorder can read them. */
#define SIMPLE_MARKER_RECORDED_SECTION_(per, subsection) \
    "\t.pushsection .rodata.simple_probe, " subsection ", \"aG\"," per "progbits," SIMPLE_MARKER_SWITCH_ ",comdat\n"
#if defined SIMPLE_MARKER_PROBE_STRINGS_
#define SIMPLE_MARKER_RECORDED_STRINGS_(name, file, line, fmt, args)                     \
    SIMPLE_MARKER_WITH_NAME_(name, file, line,                                           \
                             SIMPLE_MARKER_RECORDED_SECTION_("%", "0")                   \
                                 SIMPLE_MARKER_SYMBOL_(".Lsimple_marker_strings") ":\n") \
    "\t.ascii " #name "\n\t.byte 0\n"                                                    \
    "\t.ascii " #file "\n\t.byte 0\n"                                                    \
    "\t.ascii \"" #line "\"\n\t.byte 0\n"                                                \
    "\t.ascii " #fmt "\n\t.byte 0\n"                                                     \
    "\t.ascii " #args "\n\t.byte 0\n"                                                    \
    "\t.popsection\n"
#define SIMPLE_MARKER_RECORDED_TYPES_(each, ...)                                            \
    SIMPLE_MARKER_RECORDED_SECTION_("%%", "1") each(SIMPLE_MARKER_PROBE_TYPE_, __VA_ARGS__) \
    "\t.byte 0\n\t.popsection\n"
#define SIMPLE_MARKER_RECORDED_ SIMPLE_MARKER_SYMBOL_(".Lsimple_marker_strings")
#else
#define SIMPLE_MARKER_RECORDED_STRINGS_(name, file, line, fmt, args)
#define SIMPLE_MARKER_RECORDED_TYPES_(each, ...)
#define SIMPLE_MARKER_RECORDED_ "0"
#endif

#if __SIZEOF_POINTER__ == 8
#define SIMPLE_MARKER_PROBE_LENGTH_ "46"
#else
#define SIMPLE_MARKER_PROBE_LENGTH_ "38"
#endif

#define SIMPLE_MARKER_LAYOUT_ \
    "%c[simple_marker_words] + 256 * %c[simple_marker_arguments] + 65536 * %c[simple_marker_texts]"

/*
 * A page of the file in front of the switches, once for each image. A linker may let two segments
 * share a page of the file: lld does so with the last page of what becomes read-only after
 * relocation and the first page of data. The kernel then arms a switch in that page in the wrong
 * mapping when a program starts. The relocation of type none keeps the page if unused sections are
 * dropped.
 */
#define SIMPLE_MARKER_SPACE_                                                                  \
    "\t.pushsection .data.simple_probe,\"awG\",%%progbits,simple_probe_space,comdat\n"        \
    "\t.ifndef .Lsimple_probe_space\n"                                                        \
    "\t.weak simple_probe_space\n"                                                            \
    "\t.hidden simple_probe_space\n"                                                          \
    "simple_probe_space:\n"                                                                   \
    ".Lsimple_probe_space:\n"                                                                 \
    "\t.zero 4096\n"                                                                          \
    "\t.endif\n"                                                                              \
    "\t.popsection\n"
#if defined __x86_64__
#define SIMPLE_MARKER_KEEP_SPACE_ "\t.reloc " SIMPLE_MARKER_SWITCH_ ", R_X86_64_NONE, simple_probe_space\n"
#elif defined __aarch64__
#define SIMPLE_MARKER_KEEP_SPACE_ "\t.reloc " SIMPLE_MARKER_SWITCH_ ", R_AARCH64_NONE, simple_probe_space\n"
#else
#define SIMPLE_MARKER_KEEP_SPACE_
#endif

/*
 * The descriptor: the switch, the layout, the strings, two words for later. A symbol remembers its
 * layout, which must be that of all copies.
 */
#define SIMPLE_MARKER_DESCRIPTOR_(each, ...)                                                                         \
    "\t.ifndef " SIMPLE_MARKER_SYMBOL_(".Lsimple_probe") "\n"                                                        \
    "\t.set " SIMPLE_MARKER_SYMBOL_(".Lsimple_probe") ", " SIMPLE_MARKER_LAYOUT_ "\n"                                \
    "\t.pushsection __simple_probe,\"awG\",%%progbits," SIMPLE_MARKER_SWITCH_ ",comdat\n"                            \
    "\t.balign 32\n"                                                                                                 \
    "\t.weak " SIMPLE_MARKER_SWITCH_ "\n"                                                                            \
    "\t.hidden " SIMPLE_MARKER_SWITCH_ "\n"                                                                          \
    "\t.type " SIMPLE_MARKER_SWITCH_ ", %%object\n"                                                                  \
    "\t.size " SIMPLE_MARKER_SWITCH_ ", 8 + 3 * " SIMPLE_MARKER_STRING_(__SIZEOF_POINTER__) "\n"                     \
    SIMPLE_MARKER_SWITCH_ ":\n"                                                                                      \
    SIMPLE_MARKER_KEEP_SPACE_                                                                                        \
    "\t.2byte 0, 0\n"                                                                                                \
    "\t.4byte " SIMPLE_MARKER_LAYOUT_ "\n"                                                                           \
    "\t" SIMPLE_MARKER_ADDRESS_ " " SIMPLE_MARKER_RECORDED_ ", 0, 0\n"                                               \
    "\t.balign 32\n"                                                                                                 \
    "\t.popsection\n"                                                                                                \
    SIMPLE_MARKER_SPACE_                                                                                             \
    SIMPLE_MARKER_RECORDED_TYPES_(each, __VA_ARGS__)                                                                 \
    "\t.elseif " SIMPLE_MARKER_SYMBOL_(".Lsimple_probe") " != " SIMPLE_MARKER_LAYOUT_ "\n"                           \
    "\t.error \"simple marker: two probes of one name and line have different arguments\"\n"                         \
    "\t.endif\n"

#define SIMPLE_MARKER_PROBE_SITE_(flags, name, file, line, each, ...)                                                    \
    "2:\tnop\n"                                                                                                          \
    SIMPLE_MARKER_RECORD_(name, file, line, each, __VA_ARGS__)                                                           \
    SIMPLE_MARKER_STRINGS_SECTION_("%%")                                                                                 \
    "8:\n" each(SIMPLE_MARKER_PROBE_OPERAND_, __VA_ARGS__)                                                               \
    "\t.byte 0\n"                                                                                                        \
    "\t.popsection\n"                                                                                                    \
    SIMPLE_MARKER_WITH_NAME_(                                                                                            \
        name, file, line,                                                                                                \
        "\t.pushsection .debug.simple_marker.2,\"\",%%progbits\n"                                                        \
        "\t.2byte " SIMPLE_MARKER_PROBE_LENGTH_ "\n"                                                                     \
        "\t.byte " #flags ", " SIMPLE_MARKER_STRING_(__SIZEOF_POINTER__) "\n"                                            \
        "\t" SIMPLE_MARKER_ADDRESS_ " 2b\n"                                                                              \
        "\t.4byte " SIMPLE_MARKER_STRING_(line) ", 0\n"                                                                  \
        "\t.4byte " SIMPLE_MARKER_SYMBOL_(".Lsimple_marker_name") ", " SIMPLE_MARKER_SYMBOL_(".Lsimple_marker_file")     \
        ", " SIMPLE_MARKER_SYMBOL_(".Lsimple_marker_format") ", " SIMPLE_MARKER_SYMBOL_(".Lsimple_marker_args") ", 8b\n" \
        "\t" SIMPLE_MARKER_ADDRESS_ " " SIMPLE_MARKER_SWITCH_ "\n"                                                       \
        "\t.popsection\n"                                                                                                \
        SIMPLE_MARKER_DESCRIPTOR_(each, __VA_ARGS__))

#if defined SIMPLE_MARKER_IS_ON_
#define SIMPLE_MARKER_TEST_(counter, name, file, line)       \
    int simple_marker_on;                                    \
    SIMPLE_MARKER_IS_ON_(name, file, line, simple_marker_on) \
    if (__builtin_expect(simple_marker_on, 0))
#else
#define SIMPLE_MARKER_TEST_(counter, name, file, line)                                                   \
    extern const volatile unsigned SIMPLE_MARKER_JOIN_(simple_marker_switch_, counter)                   \
        __asm__(SIMPLE_MARKER_SWITCH_NAME_(name, file, line)) __attribute__((__visibility__("hidden"))); \
    if (__builtin_expect(SIMPLE_MARKER_JOIN_(simple_marker_switch_, counter) != 0, 0))
#endif

#define SIMPLE_MARKER_SITE_INPUTS_(each, ...)                                       \
    [simple_marker_words] "i"(SIMPLE_MARKER_WORDS_(each, __VA_ARGS__)),             \
        [simple_marker_arguments] "i"(SIMPLE_MARKER_ARGUMENTS_(each, __VA_ARGS__)), \
        [simple_marker_texts] "i"(SIMPLE_MARKER_TEXTS_(each, __VA_ARGS__))          \
            each(SIMPLE_MARKER_PROBE_INPUT_, __VA_ARGS__)

#if defined __clang__
#define SIMPLE_MARKER_ARMED_(each, flags, name, file, line, fmt, args, ...)                  \
    SIMPLE_MARKER_ASM_(SIMPLE_MARKER_PROBE_SITE_(flags, name, file, line, each, __VA_ARGS__) \
                       :                                                                     \
                       : SIMPLE_MARKER_SITE_INPUTS_(each, __VA_ARGS__)                       \
                       : "memory" SIMPLE_MARKER_RECORD_CLOBBERS_);                           \
    SIMPLE_MARKER_ASM_(SIMPLE_MARKER_PROBE_STRINGS_TEXT_(name, file, line, fmt, args));
#else
#if __GNUC__ >= 9
#define SIMPLE_MARKER_GOTO_ __asm__ __inline goto
#else
#define SIMPLE_MARKER_GOTO_ __asm__ goto
#endif
#define SIMPLE_MARKER_ARMED_(each, flags, name, file, line, fmt, args, ...)                       \
    {                                                                                             \
        __label__ simple_marker_strings;                                                          \
        SIMPLE_MARKER_GOTO_(SIMPLE_MARKER_PROBE_SITE_(flags, name, file, line, each, __VA_ARGS__) \
                            :                                                                     \
                            : SIMPLE_MARKER_SITE_INPUTS_(each, __VA_ARGS__)                       \
                            : "cc" SIMPLE_MARKER_RECORD_CLOBBERS_                                 \
                            : simple_marker_strings);                                             \
        if (0) {                                                                                  \
        simple_marker_strings:                                                                    \
            SIMPLE_MARKER_ASM_(SIMPLE_MARKER_PROBE_STRINGS_TEXT_(name, file, line, fmt, args));   \
            __builtin_unreachable();                                                              \
        }                                                                                         \
    }
#endif

#define SIMPLE_MARKER_EMIT_PROBE_(each, flags, name, fmt, args, ...)                            \
    {                                                                                           \
        SIMPLE_MARKER_TEST_(__COUNTER__, name, __FILE__, __LINE__) {                            \
            each(SIMPLE_MARKER_VARIABLE_, __VA_ARGS__)                                          \
            each(SIMPLE_MARKER_WORD_VARIABLE_, __VA_ARGS__)                                     \
            each(SIMPLE_MARKER_WORD_, __VA_ARGS__)                                              \
            SIMPLE_MARKER_ARMED_(each, flags, name, __FILE__, __LINE__, fmt, args, __VA_ARGS__) \
        }                                                                                       \
    }

#endif

#endif /* SIMPLE_PROBE_H */
