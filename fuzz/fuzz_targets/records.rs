//! Arbitrary bytes as the record of a hit: a record that is too short is refused, and otherwise
//! every argument has a value or a reason, as text and as JSON.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use simple_markers_tracer::plan::{Input, PlannedSite};
use simple_markers_tracer::record::stack::{FRAMES, ProgramStack, StackSettings};
use simple_markers_tracer::record::{Layout, Record, SITE};
use simple_markers_tracer::text::{self, Format};
use simple_markers_tracer::{Hit, Plan};

const COPIED: StackSettings = StackSettings { program: Some(ProgramStack::Copy { size: 1024 }), has_kernel: true };

static PLAN: LazyLock<(Plan, Vec<Layout>)> = LazyLock::new(|| {
    let plan = Plan::from_json(include_bytes!("../seeds/plan/kinds.json")).expect("a plan");
    let layout = |site: &PlannedSite| Layout::new(site.inputs.iter().map(Input::kind)).with_stacks(COPIED);
    let layouts = plan.sites.iter().map(layout).collect();
    (plan, layouts)
});

fuzz_target!(|input: &[u8]| {
    let (plan, layouts) = &*PLAN;
    let Some((site, rest)) = input.split_first() else { return };
    let number = usize::from(*site) % plan.sites.len();
    let size = usize::from(layouts[number].size()) + layouts[number].copy_size() as usize;
    let mut record = rest.to_vec();
    record.resize(record.len().max(size), 0);
    record[usize::from(SITE)..][..4].copy_from_slice(&(number as u32).to_ne_bytes());
    assert!(Hit::new(Record(&record[..size - 1]), plan, layouts).is_none());
    let hit = Hit::new(Record(&record), plan, layouts).expect("a hit");
    let arguments = hit.site.arguments.len();
    assert_eq!(hit.values().count(), arguments);
    assert_eq!(text::json(&hit)["args"].as_array().map(Vec::len), Some(arguments));
    Format::new(&hit.marker.format).write(&hit, &mut String::new());
    assert!(hit.kernel_stack().expect("a stack").addresses().count() <= usize::from(FRAMES));
    assert!(hit.copied_stack().expect("a stack").memory().len() <= 1024);
});
