/*
 * point.h - POINT(name, a, b): a point with two variables of type uint32_t. -DPOINT_NONE,
 * -DPOINT_MARK, .. choose its kind.
 */
#ifndef POINT_H
#define POINT_H

#if defined POINT_NONE
#define POINT(name, a, b)
#elif defined POINT_ASM
#define POINT(name, a, b) __asm__ volatile("")
#elif defined POINT_BARE
#include <simple_marker.h>
#define POINT(name, a, b) simple_mark(points:name, "passed")
#elif defined POINT_MARK
#include <simple_marker.h>
#define POINT(name, a, b) simple_mark(points:name, "%u %u", a, b)
#elif defined POINT_KEEP
#include <simple_marker.h>
#define POINT(name, a, b) simple_mark_keep(points:name, "%u %u", a, b)
#elif defined POINT_ANCHOR
#include <simple_marker.h>
#define POINT(name, a, b) simple_mark_anchor(points:name, "%u %u", a, b)
#elif defined POINT_FAST
#include <simple_marker.h>
#define POINT(name, a, b) simple_mark_anchor_fast(points:name, "%u %u", a, b)
#elif defined POINT_SWITCH
#include <simple_marker.h>
#define POINT(name, a, b) simple_probe(points:name, "%u %u", a, b)
#elif defined POINT_GHOST
#include <simple_marker.h>
#define POINT(name, a, b) simple_mark_ghost(points:name, "%u %u", a, b)
#elif defined POINT_SDT
#include <sys/sdt.h>
#define POINT(name, a, b) DTRACE_PROBE2(points, name, a, b)
#else
#error "which point?"
#endif

#endif
