/*
 * simple_marker.h - simple markers for C and C++
 *
 *      #include <simple_marker.h>
 *
 *      simple_mark(scsi:queuecommand, "Command being queued %p Done function %p", cmd, scsi_done);
 *
 * A marker says "here, and these variables are worth reading" and costs no instruction. It leaves two records beside the code,
 * in sections that are not loaded; a tool (smark list, smark export) joins them with the debug information of the program and
 * hands addresses and places to perf, bpftrace, gdb and SystemTap. docs/section-format.md has both formats; this file writes
 *
 *      __simple_marker.1         version 1: name, file, line, format, args, each ending in a NUL. Unchanged since 2008.
 *      .debug.simple_marker.2    version 2: one record for each copy of the marker in the machine code, with its address.
 *      .debug.simple_marker.str  the strings of version 2, merged by the linker.
 *
 * The macros
 *
 *      simple_mark(name, fmt, ...)              Arguments are not evaluated, now or ever: they are checked, and written down.
 *      trace_simple(name, fmt, ...)             The same. Its name in 2008.
 *      simple_mark_anchor(name, fmt, ...)       One nop stands at the address, so a probe there fires when, and only when, the
 *                                               marker is passed. Without it the address is that of the next instruction, which
 *                                               other paths may jump to. On x86 the nop is one byte.
 *      simple_mark_keep(name, fmt, ...)         Evaluates each argument once, from left to right, and keeps the value in a
 *                                               register, in memory or as a constant at the address; the record says where.
 *                                               1 to 8 integers, enums, bools, pointers, floats and doubles.
 *      simple_mark_keep_anchor(name, fmt, ...)  Both.
 *
 * All are expressions of type void. They may stand wherever inline assembly may: in inline functions, templates, lambdas and
 * constructors, not in a constexpr function and not at file scope.
 *
 *      name  Identifiers joined by colons, by convention subsystem:component, and unique in the program. Not expanded: unix:fork is
 *            unix:fork. Not a string.
 *      fmt   A string literal, also of several parts and with macros such as PRIu64. printf's language, and checked as printf's is
 *            (-Wformat; -Wformat-signedness where the compiler has it: gcc, and not clang 14).
 *      ...   For simple_mark, places to read: variables, members, elements. Up to 32.
 *
 * Options, by macros that are defined before the first inclusion
 *
 *      SIMPLE_MARKER_OFF   Everything is checked and nothing is emitted or evaluated. So it is for targets that are not ELF.
 *
 * What it costs
 *
 *   simple_mark          No instruction of its own, at any level of optimisation. At -O0 the code is the same to the byte; with
 *                        optimisation a compiler may order what surrounds it otherwise, or choose other registers. Any inline assembly
 *                        keeps it from vectorising the loop that holds it, and from turning a branch around it into a conditional
 *                        move. A marker with arguments is a compiler barrier for memory, so that what the debug information says is in
 *                        memory is there. Under gcc a marker without arguments, and without any of % { | } in its format and file name,
 *                        is none; under clang every one is. Small functions stay inlined; one with eight markers was not at -Os.
 *   simple_mark_anchor   One nop more.
 *   simple_mark_keep     What the arguments take to evaluate, one move at most for each, and the registers that they occupy.
 *   file size            40 bytes for each copy after the first (36 with 4-byte addresses).
 *
 * What it counts on, measured with gcc 12.2, clang 14 and GNU binutils 2.40
 *
 *   - The strings stand in asm statements without operands, where % means nothing. gcc takes such a statement to read and write
 *     memory. So does clang 14, without promising it: hence the two empty statements with a "memory" clobber around it.
 *   - The format reaches the assembler as it was written. gas and LLVM read \b \f \n \r \t \\ \" \ooo \xhh as C does. gas also reads
 *     \v \? \' as C does, where LLVM stops with "invalid escape sequence". gas alone takes \a for a, \e for e, \u for u; LLVM stops.
 *     So under gcc those three and \U and \N are refused here (the latter three also where the backslash is itself escaped: write
 *     \134u for \\u). A NUL is refused everywhere. What is left: gas counts 8 and 9 among the octal digits, so "\128" is one byte and
 *     not "\n8"; write "\0128" or "\n8". The same holds for clang -fno-integrated-as, and there for \a \e \u too.
 *   - The assembler takes symbols with quoted names and macros: see SIMPLE_MARKER_REMEMBER_. What it reads as one has one declaration of a
 *     marker; files that are compiled by themselves have one each. gas warns where the name of the source file has a newline in it.
 *   - A raw string literal, or one with a prefix (L"", u8""), stops the assembler.
 *   - Where the invocation spans lines, gcc counts it from its first line and clang from its last.
 *   - The two statements of simple_mark_keep find each other by a label that no other marker of the translation unit has; see
 *     SIMPLE_MARKER_EMIT_KEEP_. LLVM's machine outliner (on for AArch64 at -Oz) may move the first behind the second: then the
 *     assembler stops with "directional label undefined", and -mno-outline is the mend.
 */
#ifndef SIMPLE_MARKER_H
#define SIMPLE_MARKER_H

#if !defined __GNUC__
#error "simple_marker.h needs gcc or clang"
#endif

#if !defined __ELF__ && !defined SIMPLE_MARKER_OFF
#define SIMPLE_MARKER_OFF
#endif

/*
 * The outer macros. They are the only ones that see the name and the arguments as they were written: # stringizes a parameter before
 * its macros are expanded, and `, ##` hands the arguments on unexpanded. ISO C11 wants an argument for every `...`, so the format is
 * part of it here, and markers with and without arguments go different ways from here on.
 */
#if defined __clang__
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wgnu-zero-variadic-macro-arguments"
#endif

#define simple_mark(name, ...) \
    SIMPLE_MARKER_JOIN_(SIMPLE_MARKER_MARK_, SIMPLE_MARKER_ARITY_(__VA_ARGS__))("", 0, #name, ##__VA_ARGS__)

#define trace_simple(name, ...) \
    SIMPLE_MARKER_JOIN_(SIMPLE_MARKER_MARK_, SIMPLE_MARKER_ARITY_(__VA_ARGS__))("", 0, #name, ##__VA_ARGS__)

#define simple_mark_anchor(name, ...) \
    SIMPLE_MARKER_JOIN_(SIMPLE_MARKER_MARK_, SIMPLE_MARKER_ARITY_(__VA_ARGS__))("nop", 1, #name, ##__VA_ARGS__)

#define simple_mark_keep(name, ...) \
    SIMPLE_MARKER_JOIN_(SIMPLE_MARKER_KEEP_, SIMPLE_MARKER_ARITY_(__VA_ARGS__))("", 2, #name, ##__VA_ARGS__)

#define simple_mark_keep_anchor(name, ...) \
    SIMPLE_MARKER_JOIN_(SIMPLE_MARKER_KEEP_, SIMPLE_MARKER_ARITY_(__VA_ARGS__))("nop", 3, #name, ##__VA_ARGS__)

#if defined __clang__
#pragma clang diagnostic pop
#endif

/* 0 where the format stands alone, otherwise SOME. */
#define SIMPLE_MARKER_ARITY_(...)                                                                                              \
    SIMPLE_MARKER_34TH_(__VA_ARGS__, SOME, SOME, SOME, SOME, SOME, SOME, SOME, SOME, SOME, SOME, SOME, SOME, SOME, SOME, SOME, \
                        SOME, SOME, SOME, SOME, SOME, SOME, SOME, SOME, SOME, SOME, SOME, SOME, SOME, SOME, SOME, SOME, SOME,  \
                        0, ~)
#define SIMPLE_MARKER_34TH_(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z, aa, ab, ac, ad, ae, \
                            af, ag, arity, ...)                                                                               \
    arity

#define SIMPLE_MARKER_JOIN_(a, b) SIMPLE_MARKER_JOIN_EXPANDED_(a, b)
#define SIMPLE_MARKER_JOIN_EXPANDED_(a, b) a##b
#define SIMPLE_MARKER_STRING_(a) SIMPLE_MARKER_STRING_EXPANDED_(a)
#define SIMPLE_MARKER_STRING_EXPANDED_(a) #a

/*
 * Checks. They hold with SIMPLE_MARKER_OFF too.
 */
#if defined __cplusplus
extern "C"
#endif
/* Never called, and defined nowhere: it lends its attribute. */
__attribute__((__format__(__printf__, 1, 2))) void simple_marker_check_format(const char *format, ...);

#if defined __cplusplus
#define SIMPLE_MARKER_ASSERT_ static_assert
#else
/* __extension__ for what is older than C11, and for a builtin where ISO C wants an integer constant expression. */
#define SIMPLE_MARKER_ASSERT_ __extension__ _Static_assert
#endif

/*
 * Only a literal can be continued as in `fmt " "`, and with it an empty format is no reason for -Wformat-zero-length. No empty statement
 * between these and the declarations of simple_mark_keep: -Wdeclaration-after-statement would mind.
 */
#define SIMPLE_MARKER_CHECK_STRINGS_(name, fmt)                                                                           \
    SIMPLE_MARKER_ASSERT_(sizeof(name) > 1, "simple marker: the name is empty");                                          \
    SIMPLE_MARKER_ASSERT_(__builtin_strlen(fmt " ") == sizeof(fmt " ") - 1, "simple marker: the format has a NUL in it"); \
    SIMPLE_MARKER_CHECK_SPELLING_(name, fmt, #fmt)

#if defined __clang__
/* clang does not fold these functions in C, and its assembler refuses the escapes itself. */
#define SIMPLE_MARKER_CHECK_SPELLING_(name, fmt, spelling)
#else
#define SIMPLE_MARKER_CHECK_SPELLING_(name, fmt, spelling)                                                              \
    SIMPLE_MARKER_ASSERT_(                                                                                              \
        __builtin_strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_:") == sizeof(name) - 1, \
        "simple marker: the name is not identifiers joined by colons");                                                 \
    SIMPLE_MARKER_ASSERT_(!(__builtin_strchr(fmt, 7) && __builtin_strstr(spelling, "\\a")),                             \
                          "simple marker: the assembler does not know \\a: write \\007");                               \
    SIMPLE_MARKER_ASSERT_(!(__builtin_strchr(fmt, 27) && __builtin_strstr(spelling, "\\e")),                            \
                          "simple marker: the assembler does not know \\e: write \\033");                               \
    SIMPLE_MARKER_ASSERT_(                                                                                              \
        !__builtin_strstr(spelling, "\\u") && !__builtin_strstr(spelling, "\\U") && !__builtin_strstr(spelling, "\\N"), \
        "simple marker: the assembler does not know \\u, \\U, \\N: write the character itself (and \\134 for a backslash)");
#endif

/*
 * The statement. `asm inline` tells gcc's inliner that the many lines are no code.
 */
#if defined __clang__
#if __clang_major__ >= 11
#define SIMPLE_MARKER_ASM_ __asm__ __inline volatile
#else
#define SIMPLE_MARKER_ASM_ __asm__ volatile
#endif
#elif __GNUC__ >= 9
#define SIMPLE_MARKER_ASM_ __asm__ __inline volatile
#else
#define SIMPLE_MARKER_ASM_ __asm__ volatile
#endif

#if defined __clang__ || __GNUC__ < 7
#define SIMPLE_MARKER_BARRIER_ SIMPLE_MARKER_ASM_("" : : : "memory");
#else
#define SIMPLE_MARKER_BARRIER_
#endif

/*
 * The text. Numeric labels from 2 on: 0b and 1b are binary numbers to some assemblers. `.ascii` and a `.byte 0`, because LLVM takes
 * adjacent literals there and not in `.asciz`. `per` is how the statement writes one per cent sign.
 */
#if __SIZEOF_POINTER__ == 8
#define SIMPLE_MARKER_LENGTH_ "38"
#define SIMPLE_MARKER_ADDRESS_ ".8byte"
#else
#define SIMPLE_MARKER_LENGTH_ "34"
#define SIMPLE_MARKER_ADDRESS_ ".4byte"
#endif

#define SIMPLE_MARKER_STRINGS_SECTION_(per) "\t.pushsection .debug.simple_marker.str,\"MS\"," per "progbits,1\n"

/*
 * Whether the marker is declared already, by another copy of the code in what the assembler reads: `.Lsimple_marker_new` is 1 where it
 * is not. A symbol remembers it, named by the marker's identity: its name, line and file. So no two markers share one, also where a
 * link-time optimiser puts files together; and what starts with .L is in no symbol table.
 *
 * The macro of the assembler takes the quotes off the file, which may have any character in its name. What is left of escapes is the same
 * wherever the marker is named. It is gone behind its use: skipped, its second line would be read as it stands, and gas warns of `\n`.
 */
#define SIMPLE_MARKER_REMEMBER_(name, file, line)                \
    "\t.macro simple_marker_remember name, line, file\n"         \
    "\t.ifndef \".Lsimple_marker:\\name:\\line:\\file\"\n"       \
    "\t.set \".Lsimple_marker:\\name:\\line:\\file\", 0\n"       \
    "\t.set .Lsimple_marker_new, 1\n"                            \
    "\t.else\n"                                                  \
    "\t.set .Lsimple_marker_new, 0\n"                            \
    "\t.endif\n"                                                 \
    "\t.endm\n"                                                  \
    "\tsimple_marker_remember " #name ", " #line ", " #file "\n" \
    "\t.purgem simple_marker_remember\n"

#define SIMPLE_MARKER_DECLARATION_(per, name, file, line, fmt, args) \
    SIMPLE_MARKER_REMEMBER_(name, file, line)                        \
    "\t.if .Lsimple_marker_new\n"                                    \
    "\t.pushsection __simple_marker.1,\"\"," per "progbits\n"        \
    "\t.ascii " #name "\n\t.byte 0\n"                                \
    "\t.ascii " #file "\n\t.byte 0\n"                                \
    "\t.ascii \"" #line "\"\n\t.byte 0\n"                            \
    "\t.ascii " #fmt "\n\t.byte 0\n"                                 \
    "\t.ascii " #args "\n\t.byte 0\n"                                \
    "\t.popsection\n"                                                \
    "\t.endif\n"

/* The strings of version 2, with the labels 3, 4, 5 and 6, each followed by `id`. */
#define SIMPLE_MARKER_STRINGS_(per, id, name, file, fmt, args) \
    SIMPLE_MARKER_STRINGS_SECTION_(per)                        \
    "3" id ":\t.ascii " #name "\n\t.byte 0\n"                  \
    "4" id ":\t.ascii " #file "\n\t.byte 0\n"                  \
    "5" id ":\t.ascii " #fmt "\n\t.byte 0\n"                   \
    "6" id ":\t.ascii " #args "\n\t.byte 0\n"                  \
    "7" id ":\n"                                               \
    "\t.popsection\n"

/* The record of label 2, with the strings at 3 to 6, each followed by `id`, and the operands at 8. */
#define SIMPLE_MARKER_SITE_(per, id, flags, line)                         \
    "\t.pushsection .debug.simple_marker.2,\"\"," per "progbits\n"        \
    "\t.2byte " SIMPLE_MARKER_LENGTH_ "\n"                                \
    "\t.byte " #flags ", " SIMPLE_MARKER_STRING_(__SIZEOF_POINTER__) "\n" \
    "\t" SIMPLE_MARKER_ADDRESS_ " 2b\n"                                   \
    "\t.4byte " #line ", 0\n"                                             \
    "\t.4byte 3" id "b, 4" id "b, 5" id "b, 6" id "b, 8b\n"               \
    "\t.popsection\n"

/* A marker without operands. `anchor` is its own instruction, or nothing. */
#define SIMPLE_MARKER_TEXT_(per, anchor, flags, name, file, line, fmt, args) \
    "2:\t" anchor "\n"                                                       \
    SIMPLE_MARKER_DECLARATION_(per, name, file, line, fmt, args)             \
    SIMPLE_MARKER_STRINGS_(per, "", name, file, fmt, args)                   \
    SIMPLE_MARKER_STRINGS_SECTION_(per)                                      \
    "8:\t.byte 0\n"                                                          \
    "\t.popsection\n"                                                        \
    SIMPLE_MARKER_SITE_(per, "", flags, line)

/*
 * simple_mark and simple_mark_anchor. A statement expression and not do .. while (0): for the latter clang emits a jump at -O0.
 */
#define SIMPLE_MARKER_MARK_0(anchor, flags, name, fmt)   \
    __extension__({                                      \
        SIMPLE_MARKER_CHECK_STRINGS_(name, fmt)          \
        if (0)                                           \
            simple_marker_check_format(fmt " ");         \
        SIMPLE_MARKER_EMIT_0_(anchor, flags, name, fmt); \
    })

#define SIMPLE_MARKER_MARK_SOME(anchor, flags, name, fmt, ...)            \
    __extension__({                                                       \
        SIMPLE_MARKER_CHECK_STRINGS_(name, fmt)                           \
        if (0)                                                            \
            simple_marker_check_format(fmt " ", __VA_ARGS__);             \
        SIMPLE_MARKER_EMIT_SOME_(anchor, flags, name, fmt, #__VA_ARGS__); \
    })

#if defined SIMPLE_MARKER_OFF
#define SIMPLE_MARKER_EMIT_0_(anchor, flags, name, fmt)
#define SIMPLE_MARKER_EMIT_SOME_(anchor, flags, name, fmt, args)
#else

#define SIMPLE_MARKER_EMIT_SOME_(anchor, flags, name, fmt, args)                                      \
    SIMPLE_MARKER_BARRIER_                                                                            \
    SIMPLE_MARKER_ASM_(SIMPLE_MARKER_TEXT_("%", anchor, flags, name, __FILE__, __LINE__, fmt, args)); \
    SIMPLE_MARKER_BARRIER_

#if defined __clang__
#define SIMPLE_MARKER_EMIT_0_(anchor, flags, name, fmt) \
    SIMPLE_MARKER_ASM_(SIMPLE_MARKER_TEXT_("%", anchor, flags, name, __FILE__, __LINE__, fmt, ""))
#else
/* With colons the statement is no barrier, and % { | } have a meaning. gcc drops the other arm at -O0 too. */
#define SIMPLE_MARKER_EMIT_0_(anchor, flags, name, fmt)                                                      \
    if (__builtin_strcspn(__FILE__ fmt, "%{|}") == sizeof(__FILE__ fmt) - 1)                                 \
        SIMPLE_MARKER_ASM_(SIMPLE_MARKER_TEXT_("%%", anchor, flags, name, __FILE__, __LINE__, fmt, "") : :); \
    else                                                                                                     \
        SIMPLE_MARKER_ASM_(SIMPLE_MARKER_TEXT_("%", anchor, flags, name, __FILE__, __LINE__, fmt, ""))
#endif

#endif

/*
 * simple_mark_keep and simple_mark_keep_anchor.
 *
 * Each argument becomes a variable of its own type (arrays and functions decay, bit-fields do not widen), and that is handed to the
 * assembler twice: as CORE_, what a general register holds, and as FLOAT_. The view that is not the argument's is the constant 0 and
 * occupies no register. SHAPE_ tells the assembler which one to name and how to describe it: bits 0 to 3 are the size, bit 4 is set
 * for a signed integer, bit 5 for floating point.
 *
 * Constraints. `n` is a number; `i` would also be the name of a symbol, which tells a reader nothing. clang takes memory wherever
 * memory will do, so it is not offered any where there are registers enough. AArch64 gets none at all: [sp, 8] has a space in it,
 * and a space ends an operand. There registers are written whole, x0 and v0, whatever the size. i386 gets nothing but memory: a pair
 * of registers and the x87 stack cannot be described, and eight general registers do not hold eight arguments.
 */
#if defined __i386__
#define SIMPLE_MARKER_MEMORY_CONSTRAINT_ "m"
#define SIMPLE_MARKER_CORE_BYTES_ 8
#define SIMPLE_MARKER_FLOAT_BYTES_ 8
#elif defined __x86_64__
#define SIMPLE_MARKER_CORE_BYTES_ 8
#if defined __clang__
#define SIMPLE_MARKER_CORE_CONSTRAINT_ "nr"
#else
#define SIMPLE_MARKER_CORE_CONSTRAINT_ "nro"
#endif
#if defined __SSE2__
#define SIMPLE_MARKER_FLOAT_BYTES_ 8
#define SIMPLE_MARKER_FLOAT_CONSTRAINT_ "nx"
#endif
#elif defined __aarch64__
#define SIMPLE_MARKER_CORE_BYTES_ 8
#define SIMPLE_MARKER_CORE_CONSTRAINT_ "nr"
#if defined __ARM_FP
#define SIMPLE_MARKER_FLOAT_BYTES_ 8
#define SIMPLE_MARKER_FLOAT_CONSTRAINT_ "nw"
#endif
#elif defined __riscv
#define SIMPLE_MARKER_CORE_BYTES_ (__riscv_xlen / 8)
#define SIMPLE_MARKER_CORE_CONSTRAINT_ "nr"
#if defined __riscv_flen
#define SIMPLE_MARKER_FLOAT_BYTES_ (__riscv_flen / 8)
#define SIMPLE_MARKER_FLOAT_CONSTRAINT_ "nf"
#endif
#else
#define SIMPLE_MARKER_CORE_BYTES_ __SIZEOF_POINTER__
#define SIMPLE_MARKER_CORE_CONSTRAINT_ "nr"
#endif

/* Elsewhere the class of registers that floats live in is not known: they are refused. */
#if !defined SIMPLE_MARKER_FLOAT_BYTES_
#define SIMPLE_MARKER_FLOAT_BYTES_ 0
#define SIMPLE_MARKER_FLOAT_CONSTRAINT_ "n"
#endif

#if defined __cplusplus
extern "C++" {
namespace simple_marker {
/* The type of a variable initialised with a T. */
template <class T> T value(T);

template <class T> struct is_float {
    static constexpr bool yes = false;
};
template <> struct is_float<float> {
    static constexpr bool yes = true;
};
template <> struct is_float<double> {
    static constexpr bool yes = true;
};

/* Integers, bools and enums by the classes 1 to 4 of gcc's typeclass.h, pointers by 5. */
template <class T> struct is_core {
    static constexpr int type_class = __builtin_classify_type(*static_cast<T *>(nullptr));
    static constexpr bool yes = type_class >= 1 && type_class <= 5;
    static constexpr bool integer = type_class >= 1 && type_class <= 4;
};

/* What says whether a T is signed. An enum compares as what it promotes to, which may be int where it is unsigned itself. */
template <class T, bool Enum = __is_enum(T)> struct arithmetic {
    typedef T type;
};
template <class T> struct arithmetic<T, true> {
    typedef __underlying_type(T) type;
};

template <class T, bool Integer = is_core<T>::integer> struct is_signed {
    typedef typename arithmetic<T>::type type;
    static constexpr bool yes = static_cast<type>(-1) < static_cast<type>(1);
};
template <class T> struct is_signed<T, false> {
    static constexpr bool yes = false;
};

/* The type of a view: T, but for a float that is not chosen one whose 0 is a number to the assembler. */
template <class T, bool Chosen> struct view {
    typedef T as;
};
template <> struct view<float, false> {
    typedef char as;
};
template <> struct view<double, false> {
    typedef char as;
};
} // namespace simple_marker
}

#define SIMPLE_MARKER_TYPE_(argument) decltype(simple_marker::value(argument))
#define SIMPLE_MARKER_IS_CORE_(type) simple_marker::is_core<type>::yes
#define SIMPLE_MARKER_IS_FLOAT_(type) simple_marker::is_float<type>::yes
#define SIMPLE_MARKER_IS_SIGNED_(type) simple_marker::is_signed<type>::yes
#define SIMPLE_MARKER_VIEW_(type, chosen, variable)                                        \
    (chosen ? reinterpret_cast<typename simple_marker::view<type, chosen>::as &>(variable) \
            : typename simple_marker::view<type, chosen>::as())
#else
/* A comma makes a value: it decays, and has no qualifiers. */
#define SIMPLE_MARKER_TYPE_(argument) __typeof__(((void)0, (argument)))
#define SIMPLE_MARKER_IS_CORE_(type) \
    (SIMPLE_MARKER_TYPE_CLASS_(type) >= 1 && SIMPLE_MARKER_TYPE_CLASS_(type) <= 5)
#define SIMPLE_MARKER_IS_INTEGER_(type) \
    (SIMPLE_MARKER_TYPE_CLASS_(type) >= 1 && SIMPLE_MARKER_TYPE_CLASS_(type) <= 4)
#define SIMPLE_MARKER_TYPE_CLASS_(type) __builtin_classify_type(*(type *)0)
#define SIMPLE_MARKER_IS_FLOAT_(type) \
    (__builtin_types_compatible_p(type, float) || __builtin_types_compatible_p(type, double))
#define SIMPLE_MARKER_IS_SIGNED_(type) \
    ((SIMPLE_MARKER_INTEGER_OR_UNSIGNED_(type))-1 < (SIMPLE_MARKER_INTEGER_OR_UNSIGNED_(type))1)
#define SIMPLE_MARKER_INTEGER_OR_UNSIGNED_(type) \
    __typeof__(__builtin_choose_expr(SIMPLE_MARKER_IS_INTEGER_(type), *(type *)0, 0U))
#define SIMPLE_MARKER_VIEW_(type, chosen, variable) __builtin_choose_expr(chosen, variable, 0)
#endif

#define SIMPLE_MARKER_CHECK_ARGUMENT_(n, argument)                                        \
    SIMPLE_MARKER_ASSERT_(n <= 8, "simple marker: no more than 8 arguments can be kept"); \
    SIMPLE_MARKER_ASSERT_(                                                                \
        (SIMPLE_MARKER_IS_CORE_(SIMPLE_MARKER_TYPE_(argument)) &&                         \
         sizeof(SIMPLE_MARKER_TYPE_(argument)) <= SIMPLE_MARKER_CORE_BYTES_) ||           \
            (SIMPLE_MARKER_IS_FLOAT_(SIMPLE_MARKER_TYPE_(argument)) &&                    \
             sizeof(SIMPLE_MARKER_TYPE_(argument)) <= SIMPLE_MARKER_FLOAT_BYTES_),        \
        "simple marker: argument " #n " cannot be kept: no integer, pointer, float or double that a register takes");

#define SIMPLE_MARKER_VARIABLE_(n, argument) SIMPLE_MARKER_TYPE_(argument) simple_marker_##n = (argument);

#define SIMPLE_MARKER_SHAPE_(type) \
    (sizeof(type) | (SIMPLE_MARKER_IS_SIGNED_(type) ? 16U : 0U) | (SIMPLE_MARKER_IS_FLOAT_(type) ? 32U : 0U))

#if defined SIMPLE_MARKER_MEMORY_CONSTRAINT_
#define SIMPLE_MARKER_INPUT_(n, argument)                                                 \
    , [simple_marker_shape_##n] "i"(SIMPLE_MARKER_SHAPE_(__typeof__(simple_marker_##n))), \
        [simple_marker_core_##n] SIMPLE_MARKER_MEMORY_CONSTRAINT_(simple_marker_##n)
#define SIMPLE_MARKER_FLOAT_VIEW_ "core"
#else
#define SIMPLE_MARKER_INPUT_(n, argument)                                                                              \
    , [simple_marker_shape_##n] "i"(SIMPLE_MARKER_SHAPE_(__typeof__(simple_marker_##n))),                              \
        [simple_marker_core_##n] SIMPLE_MARKER_CORE_CONSTRAINT_(SIMPLE_MARKER_VIEW_(                                   \
            __typeof__(simple_marker_##n), SIMPLE_MARKER_IS_CORE_(__typeof__(simple_marker_##n)), simple_marker_##n)), \
        [simple_marker_float_##n] SIMPLE_MARKER_FLOAT_CONSTRAINT_(SIMPLE_MARKER_VIEW_(                                 \
            __typeof__(simple_marker_##n), SIMPLE_MARKER_IS_FLOAT_(__typeof__(simple_marker_##n)), simple_marker_##n))
#define SIMPLE_MARKER_FLOAT_VIEW_ "float"
#endif

#define SIMPLE_MARKER_OPERAND_(n, argument)                                  \
    "\t.if " #n " > 1\n\t.ascii \" \"\n\t.endif\n"                           \
    "\t.if %c[simple_marker_shape_" #n "] & 16\n\t.ascii \"-\"\n\t.endif\n"  \
    "\t.byte 48 + (%c[simple_marker_shape_" #n "] & 15)\n"                   \
    "\t.if %c[simple_marker_shape_" #n "] & 32\n"                            \
    "\t.ascii \"f@%[simple_marker_" SIMPLE_MARKER_FLOAT_VIEW_ "_" #n "]\"\n" \
    "\t.else\n"                                                              \
    "\t.ascii \"@%[simple_marker_core_" #n "]\"\n"                           \
    "\t.endif\n"

#define SIMPLE_MARKER_EACH_(what, ...) \
    SIMPLE_MARKER_JOIN_(SIMPLE_MARKER_EACH_, SIMPLE_MARKER_COUNT_(__VA_ARGS__))(what, __VA_ARGS__)
#define SIMPLE_MARKER_COUNT_(...)                                                                                   \
    SIMPLE_MARKER_34TH_(__VA_ARGS__, MORE_THAN_8_ARGUMENTS, MORE_THAN_8_ARGUMENTS, MORE_THAN_8_ARGUMENTS,           \
                        MORE_THAN_8_ARGUMENTS, MORE_THAN_8_ARGUMENTS, MORE_THAN_8_ARGUMENTS, MORE_THAN_8_ARGUMENTS, \
                        MORE_THAN_8_ARGUMENTS, MORE_THAN_8_ARGUMENTS, MORE_THAN_8_ARGUMENTS, MORE_THAN_8_ARGUMENTS, \
                        MORE_THAN_8_ARGUMENTS, MORE_THAN_8_ARGUMENTS, MORE_THAN_8_ARGUMENTS, MORE_THAN_8_ARGUMENTS, \
                        MORE_THAN_8_ARGUMENTS, MORE_THAN_8_ARGUMENTS, MORE_THAN_8_ARGUMENTS, MORE_THAN_8_ARGUMENTS, \
                        MORE_THAN_8_ARGUMENTS, MORE_THAN_8_ARGUMENTS, MORE_THAN_8_ARGUMENTS, MORE_THAN_8_ARGUMENTS, \
                        MORE_THAN_8_ARGUMENTS, MORE_THAN_8_ARGUMENTS, 8, 7, 6, 5, 4, 3, 2, 1, ~)
#define SIMPLE_MARKER_EACH_MORE_THAN_8_ARGUMENTS(m, a, ...) m(9, a)
#define SIMPLE_MARKER_EACH_1(m, a) m(1, a)
#define SIMPLE_MARKER_EACH_2(m, a, b) m(1, a) m(2, b)
#define SIMPLE_MARKER_EACH_3(m, a, b, c) m(1, a) m(2, b) m(3, c)
#define SIMPLE_MARKER_EACH_4(m, a, b, c, d) m(1, a) m(2, b) m(3, c) m(4, d)
#define SIMPLE_MARKER_EACH_5(m, a, b, c, d, e) m(1, a) m(2, b) m(3, c) m(4, d) m(5, e)
#define SIMPLE_MARKER_EACH_6(m, a, b, c, d, e, f) m(1, a) m(2, b) m(3, c) m(4, d) m(5, e) m(6, f)
#define SIMPLE_MARKER_EACH_7(m, a, b, c, d, e, f, g) m(1, a) m(2, b) m(3, c) m(4, d) m(5, e) m(6, f) m(7, g)
#define SIMPLE_MARKER_EACH_8(m, a, b, c, d, e, f, g, h) m(1, a) m(2, b) m(3, c) m(4, d) m(5, e) m(6, f) m(7, g) m(8, h)

/* Nothing to keep. */
#define SIMPLE_MARKER_KEEP_0(anchor, flags, name, fmt) SIMPLE_MARKER_JOIN_(SIMPLE_MARKER_KEEP_0_, flags)(name, fmt)
#define SIMPLE_MARKER_KEEP_0_2(name, fmt) SIMPLE_MARKER_MARK_0("", 0, name, fmt)
#define SIMPLE_MARKER_KEEP_0_3(name, fmt) SIMPLE_MARKER_MARK_0("nop", 1, name, fmt)

#define SIMPLE_MARKER_KEEP_SOME(anchor, flags, name, fmt, ...)                                     \
    __extension__({                                                                                \
        SIMPLE_MARKER_CHECK_STRINGS_(name, fmt)                                                    \
        SIMPLE_MARKER_EACH_(SIMPLE_MARKER_CHECK_ARGUMENT_, __VA_ARGS__)                            \
        SIMPLE_MARKER_EMIT_KEEP_(anchor, flags, name, fmt, #__VA_ARGS__, __COUNTER__, __VA_ARGS__) \
        if (0)                                                                                     \
            simple_marker_check_format(fmt " ", __VA_ARGS__);                                      \
    })

#if defined SIMPLE_MARKER_OFF
#define SIMPLE_MARKER_EMIT_KEEP_(anchor, flags, name, fmt, args, counter, ...)
#else

/*
 * The format has to stand in a statement without operands, and the operands in one with them. They meet by labels in which the count
 * of this use of the macro is written: 93, 94, .. and the count in the first, `93..b` in the second.
 *
 * What may a compiler do to the pair? It may copy both (inlining, unrolling): each second statement finds the first one above it.
 * It may copy, merge or move one alone, say where two copies of a marker end in the same instructions: then the nearest label is that
 * of another copy of the same marker, and has the same strings. With none above it the label is unknown, and the assembler stops.
 * The second statement of another marker has another text and cannot be merged with this one. Under -flto, two files may have the same
 * count; the nearest label is then still the marker's own, unless both were inlined into one function and a pair was torn apart
 * there. gas compares the lengths of the formats for that case too.
 */
#define SIMPLE_MARKER_EMIT_KEEP_(anchor, flags, name, fmt, args, counter, ...)                                                \
    SIMPLE_MARKER_EACH_(SIMPLE_MARKER_VARIABLE_, __VA_ARGS__)                                                                 \
    SIMPLE_MARKER_ASM_(SIMPLE_MARKER_KEEP_STRINGS_("9" SIMPLE_MARKER_STRING_(counter), name, __FILE__, __LINE__, fmt, args)); \
    SIMPLE_MARKER_ASM_(SIMPLE_MARKER_KEEP_RECORD_(anchor, flags, "9" SIMPLE_MARKER_STRING_(counter), __LINE__, __VA_ARGS__)   \
                       :                                                                                                      \
                       : [simple_marker_format_size] "i"(sizeof(fmt))                                                         \
                             SIMPLE_MARKER_EACH_(SIMPLE_MARKER_INPUT_, __VA_ARGS__)                                           \
                       : "memory");

#define SIMPLE_MARKER_KEEP_STRINGS_(id, name, file, line, fmt, args) \
    SIMPLE_MARKER_DECLARATION_("%", name, file, line, fmt, args)     \
    SIMPLE_MARKER_STRINGS_("%", id, name, file, fmt, args)

#if defined __clang__
/* LLVM does not know the distance of two labels while it reads inline assembly. */
#define SIMPLE_MARKER_KEEP_CHECK_(id)
#else
#define SIMPLE_MARKER_KEEP_CHECK_(id)                                                                            \
    "\t.if 6" id "b - 5" id "b - %c[simple_marker_format_size]\n"                                                \
    "\t.error \"simple marker: the format of a kept marker has an escape that the assembler reads otherwise\"\n" \
    "\t.endif\n"
#endif

#define SIMPLE_MARKER_KEEP_RECORD_(anchor, flags, id, line, ...)    \
    "2:\t" anchor "\n"                                              \
    SIMPLE_MARKER_KEEP_CHECK_(id)                                   \
    SIMPLE_MARKER_STRINGS_SECTION_("%%")                            \
    "8:\n" SIMPLE_MARKER_EACH_(SIMPLE_MARKER_OPERAND_, __VA_ARGS__) \
    "\t.byte 0\n"                                                   \
    "\t.popsection\n"                                               \
    SIMPLE_MARKER_SITE_("%%", id, flags, line)
#endif

#endif /* SIMPLE_MARKER_H */
