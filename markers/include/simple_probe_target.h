/*
 * simple_probe_target.h - what of a probe depends on the target: the test of the switch, how a value
 * becomes a word in a register, how the operand is written, and the call of the recorder. Included by
 * simple_probe.h.
 */
#ifndef SIMPLE_PROBE_TARGET_H
#define SIMPLE_PROBE_TARGET_H

#if defined __x86_64__ && defined __LP64__
#define SIMPLE_MARKER_PROBE_WORDS_
/*
 * cmpl $0, SWITCH(%rip), as bytes: they do not depend on the dialect, and not on how the assembler
 * reads a quoted symbol in an operand. The compiler adds the jump.
 */
#define SIMPLE_MARKER_COMPARE_(name, file, line) \
    SIMPLE_MARKER_WITH_NAME_(name, file, line, "\t.byte 0x83, 0x3d\n\t.4byte " SIMPLE_MARKER_SWITCH_ " - . - 5\n\t.byte 0\n")
/* movl SWITCH(%rip), %eax */
#define SIMPLE_MARKER_LOAD_(name, file, line) \
    SIMPLE_MARKER_WITH_NAME_(name, file, line, "\t.byte 0x8b, 0x05\n\t.4byte " SIMPLE_MARKER_SWITCH_ " - . - 4\n")
#if defined __GCC_ASM_FLAG_OUTPUTS__
#define SIMPLE_MARKER_IS_ON_(name, file, line, on) \
    SIMPLE_MARKER_ASM_(SIMPLE_MARKER_COMPARE_(name, file, line) : "=@ccne"(on));
#else
#define SIMPLE_MARKER_IS_ON_(name, file, line, on) \
    SIMPLE_MARKER_ASM_(SIMPLE_MARKER_LOAD_(name, file, line) : "=a"(on));
#endif
#define SIMPLE_MARKER_WORD_OF_CORE_                              \
    "\t.if %c2 == 17\n\t{movsbq %b1, %q0|movsx %q0, %b1}\n"      \
    "\t.elseif %c2 == 18\n\t{movswq %w1, %q0|movsx %q0, %w1}\n"  \
    "\t.elseif %c2 == 20\n\t{movslq %k1, %q0|movsxd %q0, %k1}\n" \
    "\t.elseif %c2 == 1\n\t{movzbl %b1, %k0|movzx %k0, %b1}\n"   \
    "\t.elseif %c2 == 2\n\t{movzwl %w1, %k0|movzx %k0, %w1}\n"   \
    "\t.elseif %c2 == 4\n\t{movl %k1, %k0|mov %k0, %k1}\n"       \
    "\t.else\n\t{movq %q1, %q0|mov %q0, %q1}\n\t.endif"
#define SIMPLE_MARKER_WORD_OF_FLOAT_ "{movq %1, %0|movq %0, %1}"
/* Memory is for arguments on the stack, which gcc would load before the test. clang prefers it. */
#if defined __clang__
#define SIMPLE_MARKER_WORD_CORE_ "r"
#else
#define SIMPLE_MARKER_WORD_CORE_ "rm"
#endif
#define SIMPLE_MARKER_WORD_FLOAT_ "x"
#define SIMPLE_MARKER_WORD_OPERAND_(n)                                \
    "\t.if %c[simple_marker_shape_" #n "] & 4\n"                      \
    "\t.ascii \"%k[simple_marker_word_" #n "]\"\n"                    \
    "\t.else\n\t.ascii \"%q[simple_marker_word_" #n "]\"\n\t.endif\n" \
    "\t.if %c[simple_marker_shape_" #n "] & 64\n\t.ascii \"+8@{$|}-1\"\n\t.endif\n"
#if defined SIMPLE_MARKER_RECORDER
/* The red zone stays as it is. The first word has the lowest address, above the descriptor's. */
#define SIMPLE_MARKER_RECORD_(name, file, line, each, ...)                                                         \
    "\t{leaq -128(%%rsp), %%rsp|lea rsp, [rsp - 128]}\n"                                                           \
    each##REVERSED_(SIMPLE_MARKER_PUSH_, __VA_ARGS__)                                                              \
    SIMPLE_MARKER_WITH_NAME_(name, file, line, "\t.byte 0xff, 0x35\n\t.4byte " SIMPLE_MARKER_SWITCH_ " - . - 4\n") \
    "\tcall simple_marker_record@PLT\n"                                                                            \
    "\t{leaq 136 + 8 * %c[simple_marker_words](%%rsp), %%rsp"                                                      \
    "|lea rsp, [rsp + 136 + 8 * %c[simple_marker_words]]}\n"
#define SIMPLE_MARKER_PUSH_(n, argument)                                   \
    "\t.if %c[simple_marker_shape_" #n "] & 64\n\tpush {$|}-1\n\t.endif\n" \
    "\tpush %q[simple_marker_word_" #n "]\n"
/* The lazy binding of a recorder in a shared library changes r11. */
#define SIMPLE_MARKER_RECORD_CLOBBERS_ , "r11"
#endif
#elif defined __aarch64__ && defined __LP64__
#define SIMPLE_MARKER_PROBE_WORDS_
#define SIMPLE_MARKER_IS_ON_(name, file, line, on)                                                     \
    SIMPLE_MARKER_ASM_(SIMPLE_MARKER_WITH_NAME_(name, file, line,                                      \
                                                "\tadrp %x0, " SIMPLE_MARKER_SWITCH_ "\n"              \
                                                "\tldr %w0, [%x0, :lo12:" SIMPLE_MARKER_SWITCH_ "]\n") \
                       : "=r"(on));
#define SIMPLE_MARKER_WORD_OF_CORE_          \
    "\t.if %c2 == 17\n\tsxtb %x0, %w1\n"     \
    "\t.elseif %c2 == 18\n\tsxth %x0, %w1\n" \
    "\t.elseif %c2 == 20\n\tsxtw %x0, %w1\n" \
    "\t.elseif %c2 == 1\n\tuxtb %w0, %w1\n"  \
    "\t.elseif %c2 == 2\n\tuxth %w0, %w1\n"  \
    "\t.elseif %c2 == 4\n\tmov %w0, %w1\n"   \
    "\t.else\n\tmov %x0, %x1\n\t.endif"
#define SIMPLE_MARKER_WORD_OF_FLOAT_ "fmov %x0, %d1"
#define SIMPLE_MARKER_WORD_CORE_ "r"
#define SIMPLE_MARKER_WORD_FLOAT_ "w"
#define SIMPLE_MARKER_WORD_OPERAND_(n)             \
    "\t.ascii \"%x[simple_marker_word_" #n "]\"\n" \
    "\t.if %c[simple_marker_shape_" #n "] & 64\n\t.ascii \"+8@-1\"\n\t.endif\n"
#if defined SIMPLE_MARKER_RECORDER && !defined __AARCH64EB__
/*
 * The descriptor's word has the lowest address, then come the words. The stack pointer is a multiple
 * of 16. The recorder must not read anything before it knows the id, so that is loaded with acquire.
 */
#define SIMPLE_MARKER_RECORD_(name, file, line, each, ...)                  \
    "\tsub sp, sp, #((%c[simple_marker_words] + 2) / 2 * 16)\n"             \
    "\tadd x16, sp, #8\n"                                                  \
    each(SIMPLE_MARKER_STORE_, __VA_ARGS__)                                 \
    SIMPLE_MARKER_WITH_NAME_(name, file, line,                              \
                             "\tadrp x16, " SIMPLE_MARKER_SWITCH_ "\n"      \
                             "\tadd x16, x16, :lo12:" SIMPLE_MARKER_SWITCH_ "\n") \
    "\tldar x16, [x16]\n"                                                  \
    "\tstr x16, [sp]\n"                                                    \
    "\tbl simple_marker_record\n"                                          \
    "\tadd sp, sp, #((%c[simple_marker_words] + 2) / 2 * 16)\n"
#define SIMPLE_MARKER_STORE_(n, argument)                                                             \
    "\tstr %x[simple_marker_word_" #n "], [x16], #8\n"                                               \
    "\t.if %c[simple_marker_shape_" #n "] & 64\n\tmov x17, #-1\n\tstr x17, [x16], #8\n\t.endif\n"
#define SIMPLE_MARKER_RECORD_CLOBBERS_ , "x16", "x17", "x30", "cc"
#endif
#else
/* gcc writes a name after `asm` as it is, clang adds the quotes. */
#if defined __clang__
#define SIMPLE_MARKER_SWITCH_NAME_(name, file, line) "simple_probe:" name ":" #line ":" file
#else
#define SIMPLE_MARKER_SWITCH_NAME_(name, file, line) "\"simple_probe:" name ":" #line ":" file "\""
#endif
#endif

/*
 * The value of an argument as one word: integers are extended by their sign, floats are the bits of
 * a double. A volatile statement makes the word. If the compiler made it, gcc would do so where the
 * argument gets its value, before the test, or copy a variable there that changes in a loop.
 *
 * Text must be in memory when the site is reached. gcc learns it from an operand: a "memory" clobber
 * would also say that memory changes. clang assumes both of every volatile statement.
 */
#if defined SIMPLE_MARKER_PROBE_WORDS_
#if defined __clang__
#define SIMPLE_MARKER_READS_(pointer)
#elif defined __cplusplus
#define SIMPLE_MARKER_READS_(pointer) , "m"(*reinterpret_cast<const char(*)[]>(pointer))
#else
/* -Wcast-qual does not know that the elements are const. */
#define SIMPLE_MARKER_READS_(pointer) , "m"(*(const char (*)[])(__UINTPTR_TYPE__)(pointer))
#endif
#if defined __cplusplus
extern "C++" {
namespace simple_marker {
template <class T, bool Float = is_float<T>::yes, bool Text = is_text<T>::yes> struct word {
    __attribute__((__always_inline__)) static inline unsigned long long of(T value) {
        unsigned long long bits;
        SIMPLE_MARKER_ASM_(SIMPLE_MARKER_WORD_OF_CORE_
                           : "=r"(bits)
                           : SIMPLE_MARKER_WORD_CORE_(value), "i"(sizeof(T) | (is_signed<T>::yes ? 16U : 0U)));
        return bits;
    }
};
template <class T> struct word<T, false, true> {
    __attribute__((__always_inline__)) static inline unsigned long long of(T value) {
        unsigned long long bits;
        SIMPLE_MARKER_ASM_(SIMPLE_MARKER_WORD_OF_CORE_
                           : "=r"(bits)
                           : SIMPLE_MARKER_WORD_CORE_(value), "i"(sizeof(T)) SIMPLE_MARKER_READS_(value));
        return bits;
    }
};
template <class T> struct word<T, true, false> {
    __attribute__((__always_inline__)) static inline unsigned long long of(T value) {
        const double wide = static_cast<double>(value);
        unsigned long long bits;
        SIMPLE_MARKER_ASM_(SIMPLE_MARKER_WORD_OF_FLOAT_ : "=r"(bits) : SIMPLE_MARKER_WORD_FLOAT_(wide));
        return bits;
    }
};
} // namespace simple_marker
}
#define SIMPLE_MARKER_WORD_(n, argument) \
    simple_marker_word_##n = simple_marker::word<decltype(simple_marker_##n)>::of(simple_marker_##n);
#else
/* All arms are compiled. Those that do not apply get a 0. */
#define SIMPLE_MARKER_WORD_(n, argument)                                                                          \
    if (SIMPLE_MARKER_IS_FLOAT_(__typeof__(simple_marker_##n)))                                                   \
        SIMPLE_MARKER_ASM_(SIMPLE_MARKER_WORD_OF_FLOAT_                                                           \
                           : "=r"(simple_marker_word_##n)                                                         \
                           : SIMPLE_MARKER_WORD_FLOAT_((double)__builtin_choose_expr(                             \
                               SIMPLE_MARKER_IS_FLOAT_(__typeof__(simple_marker_##n)), simple_marker_##n, 0.0))); \
    else if (SIMPLE_MARKER_IS_TEXT_(__typeof__(simple_marker_##n)))                                               \
        SIMPLE_MARKER_ASM_(SIMPLE_MARKER_WORD_OF_CORE_                                                            \
                           : "=r"(simple_marker_word_##n)                                                         \
                           : SIMPLE_MARKER_WORD_CORE_(SIMPLE_MARKER_TEXT_OF_(n)),                                 \
                             "i"(__SIZEOF_POINTER__) SIMPLE_MARKER_READS_(SIMPLE_MARKER_TEXT_OF_(n)));            \
    else                                                                                                          \
        SIMPLE_MARKER_ASM_(SIMPLE_MARKER_WORD_OF_CORE_                                                            \
                           : "=r"(simple_marker_word_##n)                                                         \
                           : SIMPLE_MARKER_WORD_CORE_(__builtin_choose_expr(                                      \
                                 SIMPLE_MARKER_IS_FLOAT_(__typeof__(simple_marker_##n)), 0, simple_marker_##n)),  \
                             "i"(SIMPLE_MARKER_SHAPE_(__typeof__(simple_marker_##n))));
#define SIMPLE_MARKER_TEXT_OF_(n) \
    __builtin_choose_expr(SIMPLE_MARKER_IS_TEXT_(__typeof__(simple_marker_##n)), simple_marker_##n, (const char *)0)
#endif

#define SIMPLE_MARKER_WORD_VARIABLE_(n, argument) unsigned long long simple_marker_word_##n;

#define SIMPLE_MARKER_PROBE_INPUT_(n, argument)                                                 \
    , [simple_marker_shape_##n] "i"(SIMPLE_MARKER_PROBE_SHAPE_(__typeof__(simple_marker_##n))), \
        [simple_marker_word_##n] "r"(simple_marker_word_##n)

#define SIMPLE_MARKER_PROBE_OPERAND_(n, argument)                                                     \
    SIMPLE_MARKER_SIZE_OF_(n) "\t.if %c[simple_marker_shape_" #n "] & 32\n\t.ascii \"f\"\n\t.endif\n" \
    "\t.ascii \"@\"\n" SIMPLE_MARKER_WORD_OPERAND_(n)
#else
/* A load, and the operands of simple_mark_keep. */
#define SIMPLE_MARKER_WORD_VARIABLE_(n, argument)
#define SIMPLE_MARKER_WORD_(n, argument)
#define SIMPLE_MARKER_PROBE_INPUT_ SIMPLE_MARKER_INPUT_
#define SIMPLE_MARKER_PROBE_OPERAND_ SIMPLE_MARKER_OPERAND_
#endif

#endif /* SIMPLE_PROBE_TARGET_H */
