/*
 * simple_marker.h - simple markers for C and C++
 *
 *      #include <simple_marker.h>
 *
 *      simple_mark(scsi:queuecommand, "Command being queued %p Done function %p", cmd, scsi_done);
 *
 * A marker names a place in the code and the variables that matter there, and costs no instruction.
 * It writes two records into sections that are not loaded. A tool (smark list, smark export) joins
 * them with the debug information of the program, and gives addresses and locations to perf,
 * bpftrace, gdb and SystemTap. docs/section-format.md has both formats. This file writes
 *
 *      __simple_marker.1         version 1: name, file, line, format, args, each with a NUL at its
 *                                end. Unchanged since 2008.
 *      .debug.simple_marker.2    version 2: one record for each copy of the marker in the machine
 *                                code, with its address.
 *      .debug.simple_marker.str  the strings of version 2, merged by the linker.
 *      __simple_probe            32 bytes for each simple_probe, with its switch. Loaded.
 *
 * The macros
 *
 *      simple_mark(name, fmt, ...)
 *              Checks and records the arguments, and never evaluates them.
 *      trace_simple(name, fmt, ...)
 *              The same, under its name of 2008.
 *      simple_mark_anchor(name, fmt, ...)
 *              Puts one nop at the address, so a probe there fires when, and only when, the marker
 *              is passed. Without it the address is that of the next instruction, and other paths
 *              may jump to that. On x86 the nop is one byte.
 *      simple_mark_anchor_fast(name, fmt, ...)
 *              The same. On x86-64 a no-operation of ten bytes follows, which Linux 7.2 turns into a
 *              call while the marker is watched, so that a hit costs less.
 *      simple_mark_keep(name, fmt, ...)
 *              Evaluates each argument once, from left to right, and keeps the value in a register,
 *              in memory or as a constant at the address. The record says where. It takes 1 to 8
 *              integers, enums, bools, pointers, floats and doubles.
 *      simple_mark_keep_anchor(name, fmt, ...)
 *      simple_mark_keep_anchor_fast(name, fmt, ...)
 *              Both.
 *      simple_mark_ghost(name, fmt, ...)
 *              A statement that changes no byte of the code with gcc, and of few functions with clang.
 *              It is only declared: the debug information says where it is (docs/markers.md).
 *      simple_probe(name, fmt, ...)
 *              A marker with a switch, which a tool or the program turns on. While it is off, the
 *              arguments are not evaluated. While it is on, each is evaluated once, from left to
 *              right. It takes up to 8 arguments of the same types. Those of type char * (also
 *              signed, unsigned, const) are text, which is recorded up to its NUL or to a limit;
 *              cast a pointer for %p to void *. A text counts as two arguments, and 12 are allowed.
 *      simple_span(name, fmt, ...)
 *              Two probes, name_begin here and name_end where the block is left, which have the same
 *              number as their first argument, id. It takes 7 arguments. It is a declaration and a
 *              statement (docs/spans.md).
 *
 * All but simple_span are expressions of type void. They are allowed wherever inline assembly is: in inline
 * functions, templates, lambdas and constructors, but not in a constexpr function or at file scope.
 *
 *      name  Identifiers joined by colons, by convention subsystem:component, and unique in the
 *            program. Macros in it are not expanded: unix:fork is unix:fork. It is not a string.
 *      fmt   A string literal, also of several parts and with macros such as PRIu64. The language
 *            is that of printf, and so are the checks (-Wformat; also -Wformat-signedness if the
 *            compiler has it: gcc does, clang 14 does not).
 *            Words in braces behind an integer conversion name its values: %u{IDLE=0,BUSY=1},
 *            %x{READ=1|WRITE=2} for flags, and %d{} for the enumerators of the argument's type.
 *            SIMPLE_WORD(O_CREAT) is the word O_CREAT=0100, of a macro. %p{} shows the whole value
 *            that a pointer points to, and %p{tag,owner.name} two of its members. See docs/markers.md.
 *      ...   For simple_mark, places to read: variables, members, elements. Up to 32.
 *
 * Options: macros to define before the first inclusion
 *
 *      SIMPLE_MARKER_OFF   Everything is checked, and nothing is emitted or evaluated. This is the
 *                          default on targets that are not ELF.
 *      SIMPLE_MARKER_RECORDER
 *                          A probe that is on calls simple_marker_record, which the program is linked
 *                          with. Define it for all files of a program, or for none. It is ignored
 *                          on targets other than 64-bit x86 and little-endian AArch64, where only
 *                          tools see the values.
 *
 * What it costs
 *
 *   simple_mark          No instruction of its own, at any level of optimisation. At -O0 the code
 *                        is the same to the byte. With optimisation, a compiler may order the code
 *                        around it differently or choose other registers. Like any inline assembly,
 *                        it prevents the vectorisation of the loop that contains it, and the
 *                        conversion of a branch around it into a conditional move. A marker with
 *                        arguments is a compiler barrier for memory, so a variable that the debug
 *                        information locates in memory has its value there. That excludes what only
 *                        this function can read: behind a restrict pointer, in a struct passed by
 *                        value, in a local array. Use simple_mark_keep there. Under gcc the barrier
 *                        also means that memory is read again after it, which takes time in a loop
 *                        that updates fields behind a pointer. Under clang, a marker without
 *                        arguments is a barrier too. Under gcc it is one only if its format or file
 *                        name has one of % { | }. Small functions stay inlined, but a function with
 *                        eight markers was not inlined at -Os.
 *   simple_mark_anchor   One more nop; 11 bytes for simple_mark_anchor_fast.
 *   simple_mark_keep     The evaluation of the arguments, at most one move for each, and the
 *                        registers that they occupy.
 *   simple_probe         While it is off, a compare and a jump on x86-64. It is taken only at gcc
 *                        -Os. On AArch64, three instructions. On other targets, and under gcc 5 and
 *                        clang 9, the switch is loaded into a register and tested. clang treats the
 *                        probe as a compiler barrier, gcc does not. What evaluates the arguments is
 *                        out of the way, except at -O0 and gcc -Os. It needs a register for each
 *                        argument. If there are not enough, gcc saves some there, and clang 14 at the
 *                        start of the function.
 *   file size            40 bytes for each copy after the first (36 with 4-byte addresses), and 8 or
 *                        4 more for a probe.
 *
 * What it relies on, measured with gcc 12.2, clang 14 and GNU binutils 2.40
 *
 *   - The strings are in asm statements without operands, in which % has no meaning. gcc assumes
 *     that such a statement reads and writes memory. clang 14 does too, but does not promise it.
 *     This is the reason for the two empty statements with a "memory" clobber around it.
 *   - The format reaches the assembler as it is written. gas and LLVM read \b \f \n \r \t \\ \"
 *     \ooo \xhh as C does. gas also reads \v \? \' as C does, but LLVM stops with "invalid escape
 *     sequence". gas alone reads \a as a, \e as e, and \u as u; LLVM stops. So under gcc this file
 *     refuses these three, and \U and \N. It refuses \u, \U and \N even after an escaped backslash:
 *     write \134u for \\u. A NUL is always refused. One difference remains: gas counts 8 and 9 as
 *     octal digits, so "\128" is one byte and not "\n8". Write "\0128" or "\n8". The same is true
 *     of clang -fno-integrated-as, also for \a \e \u.
 *   - The assembler accepts symbols with quoted names, and macros: see SIMPLE_MARKER_REMEMBER_. A
 *     marker has one declaration in each input of the assembler, so files that are compiled
 *     separately have one each. gas warns if the name of the source file contains a newline.
 *   - A raw string literal, or one with a prefix (L"", u8""), stops the assembler.
 *   - If the invocation spans several lines, gcc uses its first line and clang its last.
 *   - The two statements of simple_mark_keep find each other by a label that no other marker of the
 *     translation unit has; see SIMPLE_MARKER_EMIT_KEEP_. LLVM's machine outliner (on for AArch64
 *     at -Oz) may move the first behind the second. Then the assembler stops with "directional
 *     label undefined". The fix is -mno-outline.
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
 * The outer macros. Only these see the name and the arguments as written: # stringizes a parameter
 * before its macros are expanded, and `, ##` passes the arguments on unexpanded. ISO C11 requires
 * an argument for every `...`, so the format is part of it here. From here on, markers with and
 * without arguments use different macros.
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

#define simple_mark_anchor_fast(name, ...)                                    \
    SIMPLE_MARKER_JOIN_(SIMPLE_MARKER_MARK_, SIMPLE_MARKER_ARITY_(__VA_ARGS__)) \
    (SIMPLE_MARKER_FAST_, 1, #name, ##__VA_ARGS__)

#define simple_mark_keep_anchor_fast(name, ...)                               \
    SIMPLE_MARKER_JOIN_(SIMPLE_MARKER_KEEP_, SIMPLE_MARKER_ARITY_(__VA_ARGS__)) \
    (SIMPLE_MARKER_FAST_, 3, #name, ##__VA_ARGS__)

/* What Linux 7.2 rewrites: nopw %cs:0(%rax,%rax,1), in its one form with ten bytes. */
#if defined __x86_64__ && !defined __ILP32__
#define SIMPLE_MARKER_FAST_ "nop\n\t.byte 0x66,0x2e,0x0f,0x1f,0x84,0,0,0,0,0"
#else
#define SIMPLE_MARKER_FAST_ "nop"
#endif

#if defined __clang__
#pragma clang diagnostic pop
#endif

/* A word of a format: the name of a macro, and what the macro expands to. */
#define SIMPLE_WORD(name) #name "=" SIMPLE_MARKER_EXPANDED_(name)
#define SIMPLE_MARKER_EXPANDED_(expansion) #expansion

/* 0 if there is only a format, otherwise SOME. */
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
 * Checks. They also apply with SIMPLE_MARKER_OFF.
 */
#if defined __cplusplus
extern "C"
#endif
/* Never called and never defined: only its attribute is used. */
__attribute__((__format__(__printf__, 1, 2))) void simple_marker_check_format(const char *format, ...);

#if defined __cplusplus
#define SIMPLE_MARKER_ASSERT_ static_assert
#else
/*
 * __extension__ is for standards before C11, and for a builtin where ISO C requires an integer
 * constant expression.
 */
#define SIMPLE_MARKER_ASSERT_ __extension__ _Static_assert
#endif

/*
 * `fmt " "` only compiles if fmt is a literal, and it avoids -Wformat-zero-length for an empty
 * format. There must be no empty statement between these checks and the declarations of
 * simple_mark_keep, because of -Wdeclaration-after-statement.
 */
#define SIMPLE_MARKER_CHECK_STRINGS_(name, fmt)                                                                           \
    SIMPLE_MARKER_ASSERT_(sizeof(name) > 1, "simple marker: the name is empty");                                          \
    SIMPLE_MARKER_ASSERT_(__builtin_strlen(fmt " ") == sizeof(fmt " ") - 1, "simple marker: the format has a NUL in it"); \
    SIMPLE_MARKER_CHECK_SPELLING_(name, fmt, #fmt)

#if defined __clang__
/* clang does not fold these functions in C. Its assembler refuses the escapes itself. */
#define SIMPLE_MARKER_CHECK_SPELLING_(name, fmt, spelling)
#else
#define SIMPLE_MARKER_CHECK_SPELLING_(name, fmt, spelling)                                                              \
    SIMPLE_MARKER_ASSERT_(                                                                                              \
        __builtin_strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_:") == sizeof(name) - 1, \
        "simple marker: the name must be identifiers joined by colons");                                                 \
    SIMPLE_MARKER_ASSERT_(!(__builtin_strchr(fmt, 7) && __builtin_strstr(spelling, "\\a")),                             \
                          "simple marker: the assembler does not know \\a: write \\007");                               \
    SIMPLE_MARKER_ASSERT_(!(__builtin_strchr(fmt, 27) && __builtin_strstr(spelling, "\\e")),                            \
                          "simple marker: the assembler does not know \\e: write \\033");                               \
    SIMPLE_MARKER_ASSERT_(                                                                                              \
        !__builtin_strstr(spelling, "\\u") && !__builtin_strstr(spelling, "\\U") && !__builtin_strstr(spelling, "\\N"), \
        "simple marker: the assembler does not know \\u, \\U, \\N: write the character itself (and \\134 for a backslash)");
#endif

/*
 * The statement. `asm inline` tells gcc's inliner that the many lines are not code.
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
 * The text. Numeric labels start at 2, because some assemblers read 0b and 1b as binary numbers.
 * `.ascii` and `.byte 0` are used because LLVM accepts adjacent literals there, but not in
 * `.asciz`. `per` is how the statement writes one per cent sign.
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
 * Sets `.Lsimple_marker_new` to 1 for the first copy of the marker in the input of the assembler,
 * and to 0 for the others. A symbol remembers the marker. It is named after the marker's name, line
 * and file, so no two markers share one, even if a link-time optimiser combines files. Symbols that
 * start with .L are not in the symbol table.
 *
 * The assembler macro removes the quotes from the file name, which may contain any character. It
 * may leave parts of escapes, but they are the same in every copy. The macro is purged after its
 * use. If it were defined only once and skipped later, the assembler would read its second line
 * literally, and gas warns about `\n`.
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

/* The strings of version 2, with labels 3, 4, 5 and 6, each followed by `id`. */
#define SIMPLE_MARKER_STRINGS_(per, id, name, file, fmt, args) \
    SIMPLE_MARKER_STRINGS_SECTION_(per)                        \
    "3" id ":\t.ascii " #name "\n\t.byte 0\n"                  \
    "4" id ":\t.ascii " #file "\n\t.byte 0\n"                  \
    "5" id ":\t.ascii " #fmt "\n\t.byte 0\n"                   \
    "6" id ":\t.ascii " #args "\n\t.byte 0\n"                  \
    "7" id ":\n"                                               \
    "\t.popsection\n"

/* The record of label 2. Strings are at labels 3 to 6, each followed by `id`; operands are at 8. */
#define SIMPLE_MARKER_SITE_(per, id, flags, line)                         \
    "\t.pushsection .debug.simple_marker.2,\"\"," per "progbits\n"        \
    "\t.2byte " SIMPLE_MARKER_LENGTH_ "\n"                                \
    "\t.byte " #flags ", " SIMPLE_MARKER_STRING_(__SIZEOF_POINTER__) "\n" \
    "\t" SIMPLE_MARKER_ADDRESS_ " 2b\n"                                   \
    "\t.4byte " #line ", 0\n"                                             \
    "\t.4byte 3" id "b, 4" id "b, 5" id "b, 6" id "b, 8b\n"               \
    "\t.popsection\n"

/* A marker without operands. `anchor` is its own instruction, or empty. */
#define SIMPLE_MARKER_TEXT_(per, anchor, flags, name, file, line, fmt, args) \
    "2:\t" anchor "\n"                                                       \
    SIMPLE_MARKER_DECLARATION_(per, name, file, line, fmt, args)             \
    SIMPLE_MARKER_STRINGS_(per, "", name, file, fmt, args)                   \
    SIMPLE_MARKER_STRINGS_SECTION_(per)                                      \
    "8:\t.byte 0\n"                                                          \
    "\t.popsection\n"                                                        \
    SIMPLE_MARKER_SITE_(per, "", flags, line)

/*
 * simple_mark and simple_mark_anchor. These are statement expressions, because clang emits a jump
 * for do .. while (0) at -O0.
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
/*
 * With colons the statement is not a barrier, but % { | } have a meaning. gcc removes the arm that
 * is not taken at -O0 too.
 */
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
 * Each argument becomes a variable of its own type (arrays and functions decay, bit-fields do not
 * widen). The assembler gets the variable twice: as CORE_, for a general register, and as FLOAT_.
 * The view that does not apply is the constant 0 and occupies no register. SHAPE_ tells the
 * assembler which view to name and how to describe it: bits 0 to 3 are the size, bit 4 is set for a
 * signed integer, bit 5 for floating point, bit 6 for the view FLOAT_.
 *
 * The core view of a float is its bits, because tools of the kernel read no vector registers. Only
 * a double on 32-bit RISC-V, which no general register holds, has the view FLOAT_.
 *
 * Constraints. `n` is a number; `i` would also allow the name of a symbol, which is useless to a
 * reader. clang chooses memory whenever it is allowed, so memory is not offered if there are enough
 * registers. On AArch64 it is never offered: [sp, 8] contains a space, and a space ends an operand.
 * There, registers are written in full, x0 and v0, for every size. i386 only gets memory: a pair of
 * registers and the x87 stack cannot be described, and eight general registers are too few for
 * eight arguments.
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

/* On other targets the class of floating-point registers is not known, so floats are refused. */
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

/*
 * The type whose sign counts. An enum compares as the type that it promotes to, which may be int
 * even if the enum is unsigned.
 */
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

/* The type of a view: T. A float that is not chosen gets a type whose 0 is a number in assembly. */
template <class T, bool Chosen> struct view {
    typedef T as;
};

/* The type of the core view: T, or the bits of a float. */
template <class T> struct core {
    typedef T as;
};
template <> struct core<float> {
    typedef __UINT32_TYPE__ __attribute__((__may_alias__)) as;
};
template <> struct core<double> {
    typedef __UINT64_TYPE__ __attribute__((__may_alias__)) as;
};
template <class T, bool Chosen> struct core_view {
    typedef typename core<T>::as as;
};
template <class T> struct core_view<T, false> {
    typedef char as;
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
#define SIMPLE_MARKER_CORE_VIEW_(type, chosen, variable)                                        \
    (chosen ? reinterpret_cast<typename simple_marker::core_view<type, chosen>::as &>(variable) \
            : typename simple_marker::core_view<type, chosen>::as())
#define SIMPLE_MARKER_VIEW_(type, chosen, variable)                                        \
    (chosen ? reinterpret_cast<typename simple_marker::view<type, chosen>::as &>(variable) \
            : typename simple_marker::view<type, chosen>::as())
#else
/* The comma operator yields a value: it decays, and has no qualifiers. */
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
#define SIMPLE_MARKER_CORE_VIEW_(type, chosen, variable)                                                               \
    __builtin_choose_expr(                                                                                             \
        chosen, __builtin_choose_expr(SIMPLE_MARKER_IS_FLOAT_(type), SIMPLE_MARKER_BITS_(type, variable), variable), 0)
#define SIMPLE_MARKER_BITS_(type, variable)                                                                  \
    (((union {                                                                                               \
         type simple_marker_from;                                                                            \
         __typeof__(__builtin_choose_expr(sizeof(type) == 4, (__UINT32_TYPE__)0, (__UINT64_TYPE__)0)) simple_marker_to; \
     }){variable})                                                                                           \
         .simple_marker_to)
#define SIMPLE_MARKER_VIEW_(type, chosen, variable) __builtin_choose_expr(chosen, variable, 0)
#endif

/* Whether a general register holds a value, and whether only one of floating point does. */
#define SIMPLE_MARKER_IN_CORE_(type) \
    (SIMPLE_MARKER_IS_CORE_(type) || (SIMPLE_MARKER_IS_FLOAT_(type) && sizeof(type) <= SIMPLE_MARKER_CORE_BYTES_))
#define SIMPLE_MARKER_IN_FLOAT_(type) (SIMPLE_MARKER_IS_FLOAT_(type) && sizeof(type) > SIMPLE_MARKER_CORE_BYTES_)

#define SIMPLE_MARKER_CHECK_ARGUMENT_(n, argument)                                        \
    SIMPLE_MARKER_ASSERT_(n <= 8, "simple marker: no more than 8 arguments can be kept"); \
    SIMPLE_MARKER_ASSERT_(                                                                \
        (SIMPLE_MARKER_IS_CORE_(SIMPLE_MARKER_TYPE_(argument)) &&                         \
         sizeof(SIMPLE_MARKER_TYPE_(argument)) <= SIMPLE_MARKER_CORE_BYTES_) ||           \
            (SIMPLE_MARKER_IS_FLOAT_(SIMPLE_MARKER_TYPE_(argument)) &&                    \
             sizeof(SIMPLE_MARKER_TYPE_(argument)) <= SIMPLE_MARKER_FLOAT_BYTES_),        \
        "simple marker: argument " #n " cannot be kept: it must be an integer, pointer, float or double that fits a register");

#define SIMPLE_MARKER_VARIABLE_(n, argument) SIMPLE_MARKER_TYPE_(argument) simple_marker_##n = (argument);

#define SIMPLE_MARKER_SHAPE_(type) \
    (sizeof(type) | (SIMPLE_MARKER_IS_SIGNED_(type) ? 16U : 0U) | (SIMPLE_MARKER_IS_FLOAT_(type) ? 32U : 0U) | \
     (SIMPLE_MARKER_IN_FLOAT_(type) ? 64U : 0U))

#if defined SIMPLE_MARKER_MEMORY_CONSTRAINT_
#define SIMPLE_MARKER_INPUT_(n, argument)                                                 \
    , [simple_marker_shape_##n] "i"(SIMPLE_MARKER_SHAPE_(__typeof__(simple_marker_##n))), \
        [simple_marker_core_##n] SIMPLE_MARKER_MEMORY_CONSTRAINT_(simple_marker_##n)
#define SIMPLE_MARKER_FLOAT_VIEW_ "core"
#else
#define SIMPLE_MARKER_INPUT_(n, argument)                                                                              \
    , [simple_marker_shape_##n] "i"(SIMPLE_MARKER_SHAPE_(__typeof__(simple_marker_##n))),                              \
        [simple_marker_core_##n] SIMPLE_MARKER_CORE_CONSTRAINT_(SIMPLE_MARKER_CORE_VIEW_(                              \
            __typeof__(simple_marker_##n), SIMPLE_MARKER_IN_CORE_(__typeof__(simple_marker_##n)), simple_marker_##n)), \
        [simple_marker_float_##n] SIMPLE_MARKER_FLOAT_CONSTRAINT_(SIMPLE_MARKER_VIEW_(                                 \
            __typeof__(simple_marker_##n), SIMPLE_MARKER_IN_FLOAT_(__typeof__(simple_marker_##n)), simple_marker_##n))
#define SIMPLE_MARKER_FLOAT_VIEW_ "float"
#endif

#define SIMPLE_MARKER_OPERAND_(n, argument)                                  \
    "\t.if " #n " > 1\n\t.ascii \" \"\n\t.endif\n"                           \
    "\t.if %c[simple_marker_shape_" #n "] & 16\n\t.ascii \"-\"\n\t.endif\n"  \
    "\t.byte 48 + (%c[simple_marker_shape_" #n "] & 15)\n"                   \
    "\t.if %c[simple_marker_shape_" #n "] & 32\n\t.ascii \"f\"\n\t.endif\n"  \
    "\t.if %c[simple_marker_shape_" #n "] & 64\n"                            \
    "\t.ascii \"@%[simple_marker_" SIMPLE_MARKER_FLOAT_VIEW_ "_" #n "]\"\n"  \
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

/* No argument to keep. */
#define SIMPLE_MARKER_KEEP_0(anchor, flags, name, fmt) SIMPLE_MARKER_JOIN_(SIMPLE_MARKER_KEEP_0_, flags)(anchor, name, fmt)
#define SIMPLE_MARKER_KEEP_0_2(anchor, name, fmt) SIMPLE_MARKER_MARK_0(anchor, 0, name, fmt)
#define SIMPLE_MARKER_KEEP_0_3(anchor, name, fmt) SIMPLE_MARKER_MARK_0(anchor, 1, name, fmt)

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
 * The format must be in a statement without operands, and the operands in a statement with
 * operands. The two are connected by labels that contain the count of this use of the macro: 93,
 * 94, .. and the count in the first statement, `93..b` in the second.
 *
 * A compiler may do the following to the pair. It may copy both (inlining, unrolling): each second
 * statement finds the first one above it. It may copy, merge or move one of them alone, for example
 * if two copies of a marker end in the same instructions. Then the nearest label belongs to another
 * copy of the same marker, which has the same strings. If there is no label above, the assembler
 * stops. The second statement of another marker has another text and cannot be merged with this
 * one. Under -flto, two files may have the same count. The nearest label is still the marker's own,
 * unless both markers were inlined into one function and a pair was separated there. For that case
 * gas also compares the lengths of the formats.
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
/* LLVM does not know the distance between two labels while it reads inline assembly. */
#define SIMPLE_MARKER_KEEP_CHECK_(id)
#else
#define SIMPLE_MARKER_KEEP_CHECK_(id)                                                                            \
    "\t.if 6" id "b - 5" id "b - %c[simple_marker_format_size]\n"                                                \
    "\t.error \"simple marker: the format of a kept marker has an escape that the assembler reads differently\"\n" \
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

#include "simple_ghost.h"
#include "simple_probe.h"
#include "simple_span.h"

#endif /* SIMPLE_MARKER_H */
