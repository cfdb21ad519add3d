/*
 * simple_span.h - spans: a probe where the statement is, and one where its block is left
 *
 * simple_marker.h includes this file and describes simple_span.
 *
 * A span is a variable with the id of the span. The id is 0 if the probe at the begin was off. No
 * instruction makes the 0: the switch of the probe is loaded into the variable, and then tested.
 * Where the block is left, the variable is tested, and not the switch of the second probe.
 *
 * In C++ the second probe is in the destructor of a local class. In C, a function that __cleanup__
 * names is at file scope and cannot have a probe of its own for each span. So the begin writes a
 * function in assembly with the second probe, and the variable has its address if the probe at the
 * begin was on.
 */
#ifndef SIMPLE_SPAN_H
#define SIMPLE_SPAN_H

#if !defined SIMPLE_PROBE_H
#error "include simple_marker.h, which includes simple_span.h"
#endif

#if defined __clang__
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wgnu-zero-variadic-macro-arguments"
#endif

/* ## and # keep macros in the name as they are. */
#define simple_span(name, ...)                                                                        \
    SIMPLE_MARKER_JOIN_(SIMPLE_MARKER_SPAN_, SIMPLE_MARKER_ARITY_(__VA_ARGS__))                       \
    (SIMPLE_MARKER_JOIN_(simple_span_, __COUNTER__), SIMPLE_MARKER_STRING_EXPANDED_(name##_begin),    \
     SIMPLE_MARKER_STRING_EXPANDED_(name##_end), ##__VA_ARGS__)

#if defined __clang__
#pragma clang diagnostic pop
#endif

#define SIMPLE_MARKER_SPAN_0(guard, begin, end, fmt)                                                     \
    SIMPLE_MARKER_SPAN_GUARD_(guard, end)                                                                \
    __extension__({                                                                                      \
        SIMPLE_MARKER_CHECK_STRINGS_(begin, fmt)                                                         \
        SIMPLE_MARKER_CHECK_PROBE_                                                                       \
        if (0)                                                                                           \
            simple_marker_check_format(fmt " ");                                                         \
        SIMPLE_MARKER_EMIT_SPAN_(guard, begin, end, SIMPLE_MARKER_SPAN_ID_ " " fmt, "id", (guard).id);   \
    })

#define SIMPLE_MARKER_SPAN_SOME(guard, begin, end, fmt, ...)                                                      \
    SIMPLE_MARKER_SPAN_GUARD_(guard, end)                                                                         \
    __extension__({                                                                                               \
        SIMPLE_MARKER_CHECK_STRINGS_(begin, fmt)                                                                  \
        SIMPLE_MARKER_CHECK_PROBE_                                                                                \
        SIMPLE_MARKER_EACH_(SIMPLE_MARKER_CHECK_ARGUMENT_, __VA_ARGS__)                                           \
        SIMPLE_MARKER_ASSERT_(SIMPLE_MARKER_WORDS_(SIMPLE_MARKER_EACH_, __VA_ARGS__) <= 11,                       \
                              "simple marker: a span takes 11 words, and a text is two of them");                 \
        SIMPLE_MARKER_ASSERT_(SIMPLE_MARKER_SHOWN_POINTERS_(fmt) <=                                               \
                                  (0 SIMPLE_MARKER_EACH_(SIMPLE_MARKER_IS_ADDRESS_, __VA_ARGS__)),                \
                              "simple marker: a char * is text: cast it to void * for %p");                       \
        if (0)                                                                                                    \
            simple_marker_check_format(fmt " ", __VA_ARGS__);                                                     \
        SIMPLE_MARKER_EMIT_SPAN_(guard, begin, end, SIMPLE_MARKER_SPAN_ID_ " " fmt, "id, " #__VA_ARGS__,          \
                                 (guard).id, __VA_ARGS__);                                                        \
    })

/* As the macro of Rust writes it (markers/record/src/span.rs). */
#define SIMPLE_MARKER_SPAN_ID_ "[%lu]"

#if defined SIMPLE_MARKER_OFF || !defined SIMPLE_MARKER_PROBE_WORDS_ || __SIZEOF_POINTER__ != 8
#define SIMPLE_MARKER_SPAN_GUARD_(guard, end)
#define SIMPLE_MARKER_EMIT_SPAN_(guard, begin, end, fmt, args, ...)
#else

#if defined __x86_64__
#define SIMPLE_MARKER_SPAN_NEXT_TEXT_                                                    \
    "\tpush {%%rcx|rcx}\n\tpush {%%rdx|rdx}\n\tpush {%%rsi|rsi}\n\tpush {%%rdi|rdi}\n"    \
    "\t{movabsq $0x9e3779b97f4a7c15, %%rdx|movabs rdx, 0x9e3779b97f4a7c15}\n"           \
    "\t{movq %%rsp, %%rcx|mov rcx, rsp}\n"                                              \
    "\t{shrq $16, %%rcx|shr rcx, 16}\n"                                                 \
    "\t{imulq %%rdx, %%rcx|imul rcx, rdx}\n"                                            \
    "\t{shrq $58, %%rcx|shr rcx, 58}\n"                                                 \
    "\t{leaq simple_span_counters(%%rip), %%rsi|lea rsi, simple_span_counters[rip]}\n"  \
    "\t{movq %%rcx, %%rax|mov rax, rcx}\n"                                              \
    "\t{shlq $6, %%rax|shl rax, 6}\n"                                                   \
    "\t{movl $1, %%edi|mov edi, 1}\n"                                                   \
    "\tlock\n"                                                                          \
    "\t{xaddq %%rdi, (%%rsi,%%rax)|xadd qword ptr [rsi + rax], rdi}\n"                  \
    "\t{incq %%rdi|inc rdi}\n"                                                          \
    "\t{shlq $6, %%rdi|shl rdi, 6}\n"                                                   \
    "\t{orq %%rdi, %%rcx|or rcx, rdi}\n"                                                \
    "\t{shrq $12, %%rsi|shr rsi, 12}\n"                                                 \
    "\t{imulq %%rdx, %%rsi|imul rsi, rdx}\n"                                            \
    "\t{shrq $52, %%rsi|shr rsi, 52}\n"                                                 \
    "\t{shlq $41, %%rsi|shl rsi, 41}\n"                                                 \
    "\t{leaq (%%rcx,%%rsi), %%rax|lea rax, [rcx + rsi]}\n"                              \
    "\tpop {%%rdi|rdi}\n\tpop {%%rsi|rsi}\n\tpop {%%rdx|rdx}\n\tpop {%%rcx|rcx}\n"        \
    "\tret\n"
/* The call keeps the red zone. */
#define SIMPLE_MARKER_SPAN_NEXT_(id)                                      \
    SIMPLE_MARKER_ASM_(SIMPLE_MARKER_SPAN_NEXT_FUNCTION_                  \
                       "\t{leaq -128(%%rsp), %%rsp|lea rsp, [rsp - 128]}\n" \
                       "\tcall simple_span_next\n"                        \
                       "\t{leaq 128(%%rsp), %%rsp|lea rsp, [rsp + 128]}\n"  \
                       : "=a"(id)                                         \
                       :                                                  \
                       : "cc", "memory");
/* movl SWITCH(%rip), %ecx, which also clears the upper half. */
#define SIMPLE_MARKER_SPAN_LOAD_(name, file, line, id)                                                                   \
    SIMPLE_MARKER_ASM_(SIMPLE_MARKER_WITH_NAME_(name, file, line,                                                        \
                                                "\t.byte 0x8b, 0x0d\n\t.4byte " SIMPLE_MARKER_SWITCH_ " - . - 4\n")      \
                       : "=c"(id));
#define SIMPLE_MARKER_SPAN_JUMP_ "\tjrcxz 1f\n\tjmp %l[simple_marker_awake]\n1:\n"
#define SIMPLE_MARKER_SPAN_ID_CLASS_ "c"
#define SIMPLE_MARKER_SPAN_REGISTER_ "rdi"
#define SIMPLE_MARKER_SPAN_ENTERED_(name, file, line)                                                   \
    SIMPLE_MARKER_WITH_NAME_(name, file, line,                                                          \
                             "\t.byte 0x83, 0x3d\n\t.4byte " SIMPLE_MARKER_SWITCH_ " - . - 5\n\t.byte 0\n") \
    "\tje 9f\n"
#define SIMPLE_MARKER_SPAN_RETURN_ "9:\tret\n"
/* The call keeps the red zone. */
#define SIMPLE_MARKER_SPAN_CALL_                        \
    "\t{leaq -128(%%rsp), %%rsp|lea rsp, [rsp - 128]}\n" \
    "\tcall {*%1|%1}\n"                                 \
    "\t{leaq 128(%%rsp), %%rsp|lea rsp, [rsp + 128]}\n"
#define SIMPLE_MARKER_SPAN_CLOBBERS_ "r11", "cc", "memory"
#define SIMPLE_MARKER_SPAN_ADDRESS_ \
    "\t{leaq simple_span_end_%=(%%rip), %q[simple_marker_end]|lea %q[simple_marker_end], simple_span_end_%=[rip]}\n"
#else
#define SIMPLE_MARKER_SPAN_NEXT_TEXT_                      \
    "\tstp x1, x2, [sp, #-32]!\n"                         \
    "\tstp x3, x4, [sp, #16]\n"                           \
    "\tmovz x1, #0x7c15\n"                                \
    "\tmovk x1, #0x7f4a, lsl #16\n"                       \
    "\tmovk x1, #0x79b9, lsl #32\n"                       \
    "\tmovk x1, #0x9e37, lsl #48\n"                       \
    "\tmov x2, sp\n"                                      \
    "\tlsr x2, x2, #16\n"                                 \
    "\tmul x2, x2, x1\n"                                  \
    "\tlsr x2, x2, #58\n"                                 \
    "\tadrp x3, simple_span_counters\n"                   \
    "\tadd x3, x3, :lo12:simple_span_counters\n"          \
    "\tadd x4, x3, x2, lsl #6\n"                          \
    "1:\tldxr x0, [x4]\n"                                 \
    "\tadd x0, x0, #1\n"                                  \
    "\tstxr w16, x0, [x4]\n"                              \
    "\tcbnz w16, 1b\n"                                    \
    "\torr x0, x2, x0, lsl #6\n"                          \
    "\tlsr x3, x3, #12\n"                                 \
    "\tmul x3, x3, x1\n"                                  \
    "\tlsr x3, x3, #52\n"                                 \
    "\tadd x0, x0, x3, lsl #41\n"                         \
    "\tldp x3, x4, [sp, #16]\n"                           \
    "\tldp x1, x2, [sp], #32\n"                           \
    "\tret\n"
#define SIMPLE_MARKER_SPAN_NEXT_(id)                                                            \
    {                                                                                           \
        register unsigned long simple_marker_next __asm__("x0");                                \
        SIMPLE_MARKER_ASM_(SIMPLE_MARKER_SPAN_NEXT_FUNCTION_ "\tbl simple_span_next\n"          \
                           : "=r"(simple_marker_next)                                           \
                           :                                                                    \
                           : "x16", "x17", "x30", "cc", "memory");                              \
        (id) = simple_marker_next;                                                              \
    }
#define SIMPLE_MARKER_SPAN_LOAD_(name, file, line, id)                                                 \
    SIMPLE_MARKER_ASM_(SIMPLE_MARKER_WITH_NAME_(name, file, line,                                      \
                                                "\tadrp %x0, " SIMPLE_MARKER_SWITCH_ "\n"              \
                                                "\tldr %w0, [%x0, :lo12:" SIMPLE_MARKER_SWITCH_ "]\n") \
                       : "=r"(id));
#define SIMPLE_MARKER_SPAN_JUMP_ "\tcbnz %x[simple_marker_id], %l[simple_marker_awake]\n"
#define SIMPLE_MARKER_SPAN_ID_CLASS_ "r"
#define SIMPLE_MARKER_SPAN_REGISTER_ "x0"
#define SIMPLE_MARKER_SPAN_ENTERED_(name, file, line)                                  \
    SIMPLE_MARKER_WITH_NAME_(name, file, line,                                         \
                             "\tadrp x16, " SIMPLE_MARKER_SWITCH_ "\n"                 \
                             "\tldr w16, [x16, :lo12:" SIMPLE_MARKER_SWITCH_ "]\n")    \
    "\tcbz w16, 9f\n"                                                                  \
    "\tstp x29, x30, [sp, #-16]!\n"
#define SIMPLE_MARKER_SPAN_RETURN_ "\tldp x29, x30, [sp], #16\n9:\tret\n"
#define SIMPLE_MARKER_SPAN_CALL_ "\tblr %1\n"
#define SIMPLE_MARKER_SPAN_CLOBBERS_ "x16", "x17", "x30", "cc", "memory"
#define SIMPLE_MARKER_SPAN_ADDRESS_                \
    "\tadrp %x[simple_marker_end], simple_span_end_%=\n" \
    "\tadd %x[simple_marker_end], %x[simple_marker_end], :lo12:simple_span_end_%=\n"
#endif

/*
 * A number that no other span of the process has, and is not 0. Threads count apart, as far as
 * their stacks are apart. Another image has other counters, so their address is a part of the
 * number. The constant is 2 to the power of 64, divided by the golden ratio.
 *
 * It is a function in assembly, once for each image, that needs no register but that of the result.
 * Otherwise a compiler would save registers or make constants before a loop, while spans are off.
 * markers/src/span.rs has the same function.
 */
#define SIMPLE_MARKER_SPAN_NEXT_FUNCTION_                                                 \
    "\t.ifndef .Lsimple_span_counters\n"                                                  \
    "\t.pushsection .bss.simple_span,\"awG\",%%nobits,simple_span_counters,comdat\n"      \
    "\t.balign 64\n"                                                                      \
    "\t.weak simple_span_counters\n"                                                      \
    "\t.hidden simple_span_counters\n"                                                    \
    "simple_span_counters:\n"                                                             \
    ".Lsimple_span_counters:\n"                                                           \
    "\t.zero 4096\n"                                                                      \
    "\t.popsection\n"                                                                     \
    "\t.pushsection .text.simple_span,\"axG\",%%progbits,simple_span_next,comdat\n"       \
    "\t.weak simple_span_next\n"                                                          \
    "\t.hidden simple_span_next\n"                                                        \
    "\t.type simple_span_next, %%function\n"                                              \
    "simple_span_next:\n" SIMPLE_MARKER_SPAN_NEXT_TEXT_                                   \
    "\t.size simple_span_next, . - simple_span_next\n"                                    \
    "\t.popsection\n"                                                                     \
    "\t.endif\n"

/*
 * The switch as the first value of the id, and what is done if it is on. clang 14 refuses a jump
 * from assembly in a function with other such jumps and with variables that have something to do at
 * the end of their blocks. So there the compiler tests the id, which is one instruction more on
 * x86-64.
 */
#if defined __clang__
#define SIMPLE_MARKER_SPAN_TEST_(guard, name, file, line)  \
    SIMPLE_MARKER_SPAN_LOAD_(name, file, line, (guard).id) \
    if (__builtin_expect((guard).id != 0, 0))
#else
#define SIMPLE_MARKER_SPAN_TEST_(guard, name, file, line)                    \
    __label__ simple_marker_awake;                                           \
    SIMPLE_MARKER_SPAN_LOAD_(name, file, line, (guard).id)                   \
    SIMPLE_MARKER_GOTO_(SIMPLE_MARKER_SPAN_JUMP_                             \
                        :                                                    \
                        : [simple_marker_id] SIMPLE_MARKER_SPAN_ID_CLASS_((guard).id) \
                        :                                                    \
                        : simple_marker_awake);                              \
    if (0)                                                                   \
    simple_marker_awake:
#endif

#define SIMPLE_MARKER_EMIT_SPAN_(guard, begin, end, fmt, args, ...)                                              \
    {                                                                                                            \
        SIMPLE_MARKER_SPAN_TEST_(guard, begin, __FILE__, __LINE__) {                                             \
            SIMPLE_MARKER_SPAN_NEXT_((guard).id)                                                                 \
            SIMPLE_MARKER_SPAN_AWAKE_(guard, end, __FILE__, __LINE__)                                            \
            {                                                                                                    \
                SIMPLE_MARKER_EACH_(SIMPLE_MARKER_VARIABLE_, __VA_ARGS__)                                        \
                SIMPLE_MARKER_EACH_(SIMPLE_MARKER_WORD_VARIABLE_, __VA_ARGS__)                                   \
                SIMPLE_MARKER_EACH_(SIMPLE_MARKER_WORD_, __VA_ARGS__)                                            \
                SIMPLE_MARKER_ARMED_(SIMPLE_MARKER_EACH_, 7, begin, __FILE__, __LINE__, fmt, args, __VA_ARGS__)  \
            }                                                                                                    \
        }                                                                                                        \
    }

#if defined __cplusplus

#define SIMPLE_MARKER_SPAN_AWAKE_(guard, end, file, line)
#define SIMPLE_MARKER_SPAN_GUARD_(guard, end)                                      \
    struct SIMPLE_MARKER_JOIN_(guard, _t) {                                        \
        unsigned long id;                                                          \
        __attribute__((__always_inline__)) ~SIMPLE_MARKER_JOIN_(guard, _t)() {     \
            if (__builtin_expect(id != 0, 0))                                      \
                SIMPLE_MARKER_PROBE_SOME(end, SIMPLE_MARKER_SPAN_ID_, id);         \
        }                                                                          \
    } guard;

#else

/* `end` has no value if the id is 0. */
struct simple_span_guard_ {
    unsigned long id;
    void (*end)(unsigned long);
};

__attribute__((__always_inline__)) static __inline__ void simple_span_left_(const struct simple_span_guard_ *guard) {
    if (__builtin_expect(guard->id != 0, 0)) {
        register unsigned long id __asm__(SIMPLE_MARKER_SPAN_REGISTER_) = guard->id;
        __asm__ volatile(SIMPLE_MARKER_SPAN_CALL_ : : "r"(id), "r"(guard->end) : SIMPLE_MARKER_SPAN_CLOBBERS_);
    }
}

/* gcc does not warn of the use of a variable that is initialized with itself. */
#if defined __clang__
#define SIMPLE_MARKER_SPAN_GUARD_(guard, end) \
    struct simple_span_guard_ guard __attribute__((__cleanup__(simple_span_left_)));
#else
#define SIMPLE_MARKER_SPAN_GUARD_(guard, end) \
    struct simple_span_guard_ guard __attribute__((__cleanup__(simple_span_left_))) = guard;
#endif

/*
 * The function with the probe at the end, one for each copy of the begin, and its address. It keeps
 * all registers. The statement after it keeps the strings, as that of a probe does.
 */
#define SIMPLE_MARKER_SPAN_AWAKE_(guard, end_name, file, line)                                                \
    {                                                                                                         \
        const unsigned long simple_marker_1 = (guard).id;                                                     \
        register unsigned long simple_marker_word_1 __asm__(SIMPLE_MARKER_SPAN_REGISTER_) = simple_marker_1;  \
        SIMPLE_MARKER_ASM_(SIMPLE_MARKER_SPAN_FUNCTION_(end_name, file, line)                                 \
                           : [simple_marker_end] "=r"((guard).end)                                            \
                           : SIMPLE_MARKER_SITE_INPUTS_(SIMPLE_MARKER_EACH_, simple_marker_1));               \
        SIMPLE_MARKER_SPAN_STRINGS_(end_name, file, line, SIMPLE_MARKER_SPAN_ID_, "id")                       \
    }

#if defined __clang__
#define SIMPLE_MARKER_SPAN_STRINGS_(name, file, line, fmt, args) \
    SIMPLE_MARKER_ASM_(SIMPLE_MARKER_PROBE_STRINGS_TEXT_(name, file, line, fmt, args));
#else
#define SIMPLE_MARKER_SPAN_STRINGS_(name, file, line, fmt, args)                                \
    {                                                                                           \
        __label__ simple_marker_strings;                                                        \
        SIMPLE_MARKER_GOTO_("" : : : : simple_marker_strings);                                  \
        if (0) {                                                                                \
        simple_marker_strings:                                                                  \
            SIMPLE_MARKER_ASM_(SIMPLE_MARKER_PROBE_STRINGS_TEXT_(name, file, line, fmt, args)); \
            __builtin_unreachable();                                                            \
        }                                                                                       \
    }
#endif

#define SIMPLE_MARKER_SPAN_FUNCTION_(name, file, line)                                   \
    "\t.pushsection .text.simple_span_end_%=,\"ax\",%%progbits\n"                        \
    "\t.type simple_span_end_%=, %%function\n"                                          \
    "simple_span_end_%=:\n"                                                             \
    SIMPLE_MARKER_SPAN_ENTERED_(name, file, line)                                        \
    SIMPLE_MARKER_PROBE_SITE_(7, name, file, line, SIMPLE_MARKER_EACH_, simple_marker_1) \
    SIMPLE_MARKER_SPAN_RETURN_                                                           \
    "\t.size simple_span_end_%=, . - simple_span_end_%=\n"                              \
    "\t.popsection\n"                                                                   \
    SIMPLE_MARKER_SPAN_ADDRESS_

#endif

#endif

#endif /* SIMPLE_SPAN_H */
