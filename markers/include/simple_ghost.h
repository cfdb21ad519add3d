/*
 * simple_ghost.h - ghosts: markers that change no byte of the code
 *
 * simple_marker.h includes this file and describes simple_mark_ghost.
 *
 * A ghost has no assembly statement. The debug information says where it is:
 *
 *      gcc     has a row in the line table for each statement, also for one without code.
 *      clang   describes each label (DW_TAG_label), also one that nothing jumps to. It drops one that
 *              is in a block without code, so the label stands in the block of the ghost, and the
 *              count makes its name another one each time.
 *
 * The declaration has its line with a zero before it.
 *
 *      gcc     An array in __simple_marker.1. gcc writes the name of the section as it is, so the
 *              name also has the flags, and starts a comment that hides the flags of gcc. The count
 *              gives each array a section of its own, because in C++ those of inline functions and
 *              others may not share one.
 *      clang   An empty array whose symbol is the record: simple_ghost.1, name, file, line, format
 *              and args, with a byte 0x1f after each. clang would load a section. It is in .text, of
 *              which it takes no byte: GNU ld drops the symbols of a section that is empty in the
 *              end. strip removes it.
 */
#ifndef SIMPLE_GHOST_H
#define SIMPLE_GHOST_H

#if !defined SIMPLE_MARKER_H
#error "include simple_marker.h, which includes simple_ghost.h"
#endif

#if defined __clang__
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wgnu-zero-variadic-macro-arguments"
#endif

#define simple_mark_ghost(name, ...) \
    SIMPLE_MARKER_GHOST_LABEL_       \
    SIMPLE_MARKER_JOIN_(SIMPLE_MARKER_GHOST_, SIMPLE_MARKER_ARITY_(__VA_ARGS__))(#name, ##__VA_ARGS__)

#if defined __clang__
#pragma clang diagnostic pop
#endif

#define SIMPLE_MARKER_GHOST_0(name, fmt)         \
    __extension__({                              \
        SIMPLE_MARKER_EMIT_GHOST_(name, fmt, "") \
        SIMPLE_MARKER_CHECK_STRINGS_(name, fmt)  \
        SIMPLE_MARKER_TYPED_(fmt " ")            \
        (void)0;                                 \
    })

#define SIMPLE_MARKER_GHOST_SOME(name, fmt, ...)              \
    __extension__({                                           \
        SIMPLE_MARKER_EMIT_GHOST_(name, fmt, #__VA_ARGS__)    \
        SIMPLE_MARKER_CHECK_STRINGS_(name, fmt)               \
        SIMPLE_MARKER_TYPED_(fmt " ", __VA_ARGS__)            \
        (void)0;                                              \
    })

/* A call that is only typed. gcc compiles other code around one in `if (0)`. */
#define SIMPLE_MARKER_TYPED_(...) (void)sizeof(simple_marker_check_format(__VA_ARGS__), 0);

#if defined SIMPLE_MARKER_OFF
#define SIMPLE_MARKER_EMIT_GHOST_(name, fmt, args)
#define SIMPLE_MARKER_GHOST_LABEL_
#elif defined __clang__
/* With -fdata-sections the linker's --gc-sections would drop it. */
#if __has_attribute(__retain__)
#define SIMPLE_MARKER_RETAIN_ , __retain__
#else
#define SIMPLE_MARKER_RETAIN_
#endif
#define SIMPLE_MARKER_EMIT_GHOST_(name, fmt, args)                                                                      \
    static const char simple_ghost[0] __asm__("simple_ghost.1\x1f" name "\x1f" __FILE__                                 \
                                              "\x1f" SIMPLE_MARKER_STRING_(__LINE__) "\x1f" fmt "\x1f" args "\x1f")     \
        __attribute__((__section__(".text"), __used__ SIMPLE_MARKER_RETAIN_)) = {};
#if defined __cplusplus
/* In C++ an attribute after a label belongs to the statement. */
#define SIMPLE_MARKER_GHOST_LABEL_ [[gnu::unused]] SIMPLE_MARKER_JOIN_(simple_ghost_1_, __COUNTER__):
#else
#define SIMPLE_MARKER_GHOST_LABEL_ SIMPLE_MARKER_JOIN_(simple_ghost_1_, __COUNTER__): __attribute__((__unused__))
#endif
#else
#define SIMPLE_MARKER_EMIT_GHOST_(name, fmt, args)                                                  \
    static const char simple_ghost[] __attribute__((                                                \
        __used__, __aligned__(1),                                                                   \
        __section__("__simple_marker.1,\"\",%progbits\n#" SIMPLE_MARKER_STRING_(__COUNTER__)))) =    \
        name "\0" __FILE__ "\0" "0" SIMPLE_MARKER_STRING_(__LINE__) "\0" fmt "\0" args;
#define SIMPLE_MARKER_GHOST_LABEL_
#endif

#endif /* SIMPLE_GHOST_H */
