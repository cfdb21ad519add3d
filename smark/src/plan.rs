//! `smark plan`: writes what is needed to watch markers on a machine without debug information.

use std::collections::HashSet;
use std::fs;
use std::path::PathBuf;

use anyhow::bail;
use clap::Args;
use simple_markers_resolver::resolve::{Detail, Marker, ResolvedImage};
use simple_markers_resolver::uprobe_rules::ALL_KERNELS;
use simple_markers_tracer::bpf::KernelOffsets;
use simple_markers_tracer::bpf::expression::TaskOffsets;
use simple_markers_tracer::plan::PlannedImage;
use simple_markers_tracer::planning::PlanSettings;

use crate::choice::{Assist, Choice, Strict};
use crate::console::{Console, Status};
use crate::inputs::Inputs;
use crate::values::Values;
use crate::watch::{self, TEXT};
use crate::{left_out, output};

/// Write a plan file: all that is needed to watch markers on a machine without debug information
///
/// FILE is an executable or a shared object. PATTERN is a glob for marker names. An operand is a FILE if it contains a `/` or names an
/// existing file.
///
/// `smark trace`, `count` and `record` take the plan with --plan. They know a program by its build id, so it may be stripped and in
/// another folder. Each program must have a build id.
#[derive(Debug, Args)]
#[command(
    override_usage = "smark plan [OPTIONS] -o <FILE> [PATTERN]... <FILE>...",
    after_help = EXAMPLES,
    after_long_help = format!("{EXAMPLES}\n\n{STATUS}")
)]
pub(crate) struct Plan {
    #[command(flatten)]
    inputs: Inputs,
    /// The plan file to write
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Overwrite the plan file if it exists; an input is never overwritten
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    choice: Choice,
    #[command(flatten)]
    strict: Strict,
    #[command(flatten)]
    assist: Assist,
    #[command(flatten)]
    values: Values,
}

const EXAMPLES: &str = "\
EXAMPLES
  Where the program is built:
      smark plan -o server.plan target/release/server
  Where it runs, stripped:
      smark trace --plan server.plan -p $(pidof server)
      smark count --plan server.plan --by status queue:complete -- ./server
  A program and its libraries:
      smark plan -o all.plan build/server build/lib*.so";

const STATUS: &str = "\
EXIT STATUS
  0  written; stderr says which sites are left out
  1  a pattern matches nothing
  2  a file could not be read or has no build id, there is no site to watch, or the output exists";

/// How to get a build id.
const LINKER: &str = "link it with -Wl,--build-id (for Rust: -C link-arg=-Wl,--build-id)";

impl Plan {
    pub(crate) fn run(mut self, console: &Console) -> anyhow::Result<Status> {
        self.inputs.find_tasks();
        let selected = self.inputs.select(console, Detail::Places, ALL_KERNELS)?;
        let rows = selected.rows();
        let chosen = selected.chosen(&rows);
        let keep = selected.keeps(&chosen);
        let inputs: Vec<PathBuf> = selected.resolution.images.iter().map(|image| PathBuf::from(&image.path)).collect();
        // Checked before any work, and again right before the file is replaced.
        output::check(&self.output, &inputs, self.force)?;
        // What the kernel of the target cannot do is left out there.
        let settings = PlanSettings {
            export: self.choice.settings(),
            text: TEXT,
            values: self.values.budget(),
            // Another kernel has them elsewhere.
            kernel: KernelOffsets {
                thread_pointer: Some(0),
                identity: self.assist.at_entry().then_some(TaskOffsets::default()),
            },
            is_sleepable: true,
            is_recorded: false,
            doubtful: self.choice.doubtful(self.strict)?,
        };
        let (mut plan, mut status) = (simple_markers_tracer::Plan::default(), Status::Done);
        for image in selected.resolution.images.iter().filter(|image| image.markers.iter().any(&keep)) {
            let is_same = |it: &&PlannedImage| it.build_id == image.build_id;
            let added = match (&image.build_id, plan.images.iter().find(is_same)) {
                (None, _) => Err(anyhow::anyhow!("it has no build id, by which a plan knows a program: {LINKER}")),
                (Some(_), Some(same)) => {
                    console
                        .note(&format!("{}: it has the build id of {}, which is in the plan", image.path, same.path));
                    Ok(())
                }
                (Some(_), None) => add(&mut plan, image, &keep, &settings),
            };
            if let Err(why) = added {
                console.error(&format!("{}: {why}", image.path));
                status = Status::Unreadable;
            }
        }
        status = status.max(selected.report(console, &rows, &chosen));
        left_out::tell(console, &plan, 0, &HashSet::new(), &|_| true);
        if plan.sites.is_empty() {
            if status == Status::Done {
                bail!("there is no site to watch");
            }
            return Ok(status);
        }
        output::place(&self.output, format!("{}\n", plan.to_json()).as_bytes(), None, &inputs, self.force)?;
        Ok(status)
    }
}

/// Adds an image to the plan. A process maps files under their canonical names.
fn add(
    plan: &mut simple_markers_tracer::Plan,
    image: &ResolvedImage,
    keep: &dyn Fn(&Marker) -> bool,
    settings: &PlanSettings,
) -> anyhow::Result<()> {
    watch::add(plan, image, None, keep, settings)?;
    if let (Some(planned), Ok(path)) = (plan.images.last_mut(), fs::canonicalize(&image.path)) {
        planned.path = path.display().to_string();
    }
    Ok(())
}
