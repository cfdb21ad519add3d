//! Arbitrary bytes as a plan file: refused with a place, or read, written and compiled.
#![no_main]

use libfuzzer_sys::fuzz_target;
use simple_markers_tracer::Plan;
use simple_markers_tracer::aggregate::Question;
use simple_markers_tracer::bpf::expression::TaskOffsets;
use simple_markers_tracer::bpf::program::{FrameLookup, ProcessFilter, ProgramSettings, Section};
use simple_markers_tracer::bpf::trace;
use simple_markers_tracer::bpf::{KernelOffsets, Target, count::count};
use simple_markers_tracer::record::stack::{ProgramStack, StackSettings};

/// The kernel's frames, and a copy of the program's stack.
const STACKS: StackSettings = StackSettings { program: Some(ProgramStack::Copy { size: 1 << 16 }), has_kernel: true };

fuzz_target!(|input: &[u8]| {
    let Ok(read) = Plan::from_json(input) else { return };
    let again = Plan::from_json(read.to_json().to_string().as_bytes());
    assert_eq!(again.as_ref(), Ok(&read));
    let settings = ProgramSettings { processes: ProcessFilter::Set, stacks: STACKS, waits: None };
    for thread_pointer in [None, Some(0x1000)] {
        let kernel = KernelOffsets { thread_pointer, identity: Some(TaskOffsets::default()) };
        let mut plan = Plan::default();
        for image in 0..read.images.len() {
            plan.adopt(&read, image, "/a", &|_| true, &|_| true, kernel);
        }
        assert_eq!(plan.sites.len(), read.sites.len());
        if let Some(argument) = plan.sites.first().and_then(|site| site.arguments.first()) {
            let name = argument.text.clone();
            plan.narrow(0, None, &Question::Values(vec![name]));
        }
        for numbers in plan.by_address(0) {
            let first = &plan.sites[numbers[0]];
            let target = Target {
                probe: first.probe,
                platform: plan.images[first.image].platform,
                thread_local_size: plan.images[first.image].thread_local_size,
                is_sleepable: true,
                has_exchange: true,
                kernel,
            };
            let section = |number: &usize| {
                let site = &plan.sites[*number];
                let distance = (number - numbers[0]) as u32;
                let (inputs, aggregate, reads) = (&site.inputs[..], &site.aggregate, &plan.reads[..]);
                let frame = site.frame.as_ref().map(|frame| FrameLookup {
                    entry: frame.entry as u32,
                    stack_pointer: &frame.stack_pointer,
                    values: &plan.entries[frame.entry].values,
                });
                Section { distance, inputs, filter: None, aggregate, group: 0, reads, frame }
            };
            let sections: Vec<Section<'_>> = numbers.iter().map(section).collect();
            // The programs can only be too long.
            if let Ok((_, layouts)) = trace::trace(&sections, &target, settings) {
                assert_eq!(layouts.len(), sections.len());
                for (layout, section) in layouts.iter().zip(&sections) {
                    assert!(layout.size() < 1 << 15);
                    assert_eq!(layout.fields().len(), section.inputs.len());
                }
            }
            let _ = count(&sections, &target, settings, None);
        }
    }
});
