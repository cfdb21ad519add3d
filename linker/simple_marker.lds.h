/*
 * simple_marker.lds.h - simple markers in a linker script that goes through the C preprocessor, as a kernel's do.
 *
 *      #include "simple_marker.lds.h"
 *
 *      SECTIONS
 *      {
 *          ...
 *          STABS_DEBUG
 *          DWARF_DEBUG
 *          SIMPLE_MARKER_SECTIONS
 *          ...
 *          DISCARDS
 *      }
 *
 * In the image (arch/.../kernel/vmlinux.lds.S) it stands beside DWARF_DEBUG and before DISCARDS: an input section goes to the first
 * pattern that matches. In modules (scripts/module.lds.S) it stands anywhere before /DISCARD/. Nothing here is loaded.
 *
 * KEEP only where there is nothing to be kept alive by it: the sites point at functions, and kept they would keep those.
 */
#ifndef SIMPLE_MARKER_LDS_H
#define SIMPLE_MARKER_LDS_H

#define SIMPLE_MARKER_SECTIONS                                                 \
    __simple_marker.1 0 : { KEEP(*(__simple_marker.1)) }                       \
    .debug.simple_marker.2 0 : { *(.debug.simple_marker.2) }                   \
    .debug.simple_marker.str 0 : { *(.debug.simple_marker.str) }

#endif
