/*
 * simple_marker.lds.h - simple markers for a linker script that goes through the C preprocessor,
 * like those of the kernel.
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
 * In the image (arch/.../kernel/vmlinux.lds.S), put it next to DWARF_DEBUG and before DISCARDS: an
 * input section goes to the first pattern that matches. In modules (scripts/module.lds.S), put it
 * anywhere before /DISCARD/. Nothing here is loaded.
 *
 * Only the declarations have KEEP. The sites refer to functions, and with KEEP they would keep
 * those too.
 */
#ifndef SIMPLE_MARKER_LDS_H
#define SIMPLE_MARKER_LDS_H

#define SIMPLE_MARKER_SECTIONS                                                 \
    __simple_marker.1 0 : { KEEP(*(__simple_marker.1)) }                       \
    .debug.simple_marker.2 0 : { *(.debug.simple_marker.2) }                   \
    .debug.simple_marker.str 0 : { *(.debug.simple_marker.str) }

#endif
