//! What the measurements share.

use std::error::Error;

use simple_markers_resolver::resolve::resolve;
use simple_markers_tracer::Plan;
use simple_markers_tracer::bpf::KernelOffsets;
use simple_markers_tracer::planning::PlanSettings;
use simple_markers_tracer::thread_local::ThreadLocals;

/// The plan of all markers of a program.
pub(crate) fn plan(program: impl AsRef<std::path::Path>, kernel: KernelOffsets) -> Result<Plan, Box<dyn Error>> {
    let path = std::fs::canonicalize(program)?.display().to_string();
    let resolution = resolve(&path, &std::fs::read(&path)?);
    let settings = PlanSettings { text: 64, kernel, ..PlanSettings::default() };
    let mut plan = Plan::default();
    for image in &resolution.images {
        plan.add(image, &path, &ThreadLocals::Unknown, &|_| true, &settings)?;
    }
    Ok(plan)
}
