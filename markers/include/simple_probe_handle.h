/*
 * simple_probe_handle.h - functions of the program that get the values of probes (docs/probes.md). The
 * functions are in libsimple_marker.a.
 */
#ifndef SIMPLE_PROBE_HANDLE_H
#define SIMPLE_PROBE_HANDLE_H

#include <stddef.h>

#if defined __cplusplus
extern "C" {
#endif

enum simple_probe_kind {
    SIMPLE_PROBE_SIGNED,
    SIMPLE_PROBE_UNSIGNED,
    SIMPLE_PROBE_FLOAT,
    SIMPLE_PROBE_POINTER,
    SIMPLE_PROBE_TEXT,
    SIMPLE_PROBE_WHOLE /* A value of any type: `%p{}` of a probe in Rust. */
};

struct simple_probe_value {
    enum simple_probe_kind kind;
    union {
        long long i;
        unsigned long long u;
        double f;
        const void *p;
        const char *s; /* Without a NUL; at most the first 256 bytes. */
        const void *v; /* The bytes of a whole value. */
    } value;
    size_t length; /* Of a text or a whole value. */
};

struct simple_probe_hit {
    const char *name, *file, *format, *arguments;
    unsigned line, count;
    const struct simple_probe_value *values;
};

typedef void simple_probe_handler(const struct simple_probe_hit *hit, void *data);

/*
 * Calls the handler for every hit of the probes of this program or shared library whose names match one
 * of the patterns ("queue:*,file:open"). A null handler removes theirs; another thread may still run it.
 * Returns the number of these probes, or -1: another thread is arming or handling probes, there is no
 * memory, or a string is not UTF-8.
 *
 * The handler runs at the place of the hit, and may do what the code there may do. Hits of the thread
 * while it runs are recorded, and not handled. It must return: not by longjmp, nor by an exception.
 */
int simple_probe_handle(const char *patterns, simple_probe_handler *handler, void *data);

#if defined __cplusplus
}
#endif

#endif /* SIMPLE_PROBE_HANDLE_H */
