//! `libsimple_marker.a`: the recorder for C and C++ programs that define `SIMPLE_MARKER_RECORDER`
//! and include `simple_marker.h`. It has the symbol `simple_marker_record`, which an armed probe
//! calls, and the function of `simple_probe_handle.h`. `docs/probes.md`, "C and C++", says how to build
//! and link it.

mod handle;

// Links the crate.
pub use simple_markers_recorder as recorder;
