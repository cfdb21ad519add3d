// Probes in inline functions and templates, of which each file has copies.
#ifndef SHARED_H
#define SHARED_H

#include <simple_marker.h>

static inline int in_both(int a) {
    simple_probe(copies:inline, "%d", a);
    return a + 1;
}

#ifdef __cplusplus
template <class T> struct Templated {
    static T same(T a) {
        simple_probe(copies:template, "%d", static_cast<int>(a));
        return a;
    }
};

struct Counter {
    int count;
    explicit Counter(int start) : count(start) {
        simple_probe(copies:constructor, "%d", count);
    }
    virtual ~Counter() {
        simple_probe(copies:destructor, "%d %s", count, "text");
    }
    virtual int next() {
        simple_probe(copies:virtual, "%d", count);
        return ++count;
    }
};

extern "C" {
#endif
int from_c(int a);
int from_cxx(int a);
#ifdef __cplusplus
}
#endif

#endif
