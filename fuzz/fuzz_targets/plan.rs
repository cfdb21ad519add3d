//! Arbitrary bytes as a plan file: refused with a place, or read, written and compiled.
#![no_main]

use libfuzzer_sys::fuzz_target;
use simple_markers_tracer::Plan;
use simple_markers_tracer::aggregate::Question;
use simple_markers_tracer::bpf::{Target, count::count};
use simple_markers_tracer::bpf::{program::Settings, trace};

fuzz_target!(|input: &[u8]| {
    let Ok(read) = Plan::from_json(input) else { return };
    let again = Plan::from_json(read.to_json().to_string().as_bytes());
    assert_eq!(again.as_ref(), Ok(&read));
    let settings = Settings { of_processes: true, with_stack: true };
    for thread_pointer in [None, Some(0x1000)] {
        let mut plan = Plan::default();
        for image in 0..read.images.len() {
            plan.adopt(&read, image, "/a", &|_| true, &|_| true, thread_pointer);
        }
        assert_eq!(plan.sites.len(), read.sites.len());
        if let Some(argument) = plan.sites.first().and_then(|site| site.arguments.first()) {
            let name = argument.text.clone();
            plan.narrow(0, None, &Question::Values(name));
        }
        for site in &plan.sites {
            let image = &plan.images[site.image];
            let target = Target {
                probe: site.probe,
                thread_local_size: image.thread_local_size,
                thread_pointer,
                is_sleepable: true,
            };
            // The programs can only be too long.
            if let Ok((_, layout)) = trace::trace(&site.inputs, None, &target, settings) {
                assert!(layout.size() < 1 << 15);
                assert_eq!(layout.fields().len(), site.inputs.len());
            }
            let _ = count(&site.inputs, None, &site.aggregate, 0, &target, settings, None);
        }
    }
});
