//! Watches running programs with BPF, and compares what is read with the programs themselves.

#[macro_use]
extern crate harness;

cfg_if::cfg_if! {
    if #[cfg(all(target_arch = "x86_64", target_os = "linux"))] {
        mod agent;
        mod amounts;
        mod anchors;
        mod blocked;
        mod calls;
        mod containers;
        mod context_keys;
        mod count;
        mod count_metrics;
        mod doubtful;
        mod entry_values;
        mod expressions;
        mod function_pointers;
        mod futures;
        mod groups;
        mod hostile;
        mod html;
        mod intervals;
        mod kernel_events;
        mod kernel_text;
        mod killed;
        mod libraries;
        mod marks_watched;
        mod members_watched;
        mod memory_images;
        mod names;
        mod order;
        #[cfg(feature = "otlp")]
        mod otlp;
        #[cfg(feature = "otlp")]
        mod otlp_faults;
        mod partial_values;
        #[cfg(feature = "parquet")]
        mod parquet;
        mod plan;
        mod probe_twins;
        mod probes_watched;
        mod rates;
        mod record;
        mod recorded;
        mod recorded_counts;
        mod replaced;
        mod report;
        mod rest;
        mod rings;
        mod sdt_programs;
        mod sdt_watched;
        mod slow;
        mod spans;
        mod spelling;
        mod split;
        mod stacks;
        mod stacks_copied;
        mod stacks_recorded;
        mod structured;
        mod system_calls;
        mod tasks;
        mod thread_locals;
        mod timeline;
        mod timeline_contents;
        mod torn;
        mod top;
        mod top_remote;
        mod trace;
        mod traced_examples;
        mod traced_twins;
        mod tracefs;
        mod trait_objects;
        mod trees;
        mod unloaded;
        #[cfg(feature = "view")]
        mod view;
        mod whole_probes;
        mod whole_values_watched;
        mod whom;
    }
}

fn main() -> std::process::ExitCode {
    // They wait for programs and for times to pass.
    harness::main_with(2)
}
