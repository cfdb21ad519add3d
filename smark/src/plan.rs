//! `smark plan`: writes what is needed to watch markers on a machine without debug information.

use std::collections::HashSet;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context as _, bail};
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
use crate::served_plans::served_path;
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
    override_usage = "smark plan [OPTIONS] -o <FILE> [PATTERN]... <FILE>...\n       smark plan [OPTIONS] --serve <DIR> [PATTERN]... <FILE>...",
    after_help = EXAMPLES,
    after_long_help = format!("{EXAMPLES}\n\n{STATUS}")
)]
pub(crate) struct Plan {
    #[command(flatten)]
    inputs: Inputs,
    /// The plan file to write
    #[arg(short, long, value_name = "FILE", required_unless_present = "serve")]
    output: Option<PathBuf>,
    /// Write a plan file for each FILE into this folder, DIR/buildid/ID/smark-plan, as debuginfod names files: any web server that hands
    /// out the folder serves the plans to `smark agent`
    #[arg(long, value_name = "DIR", conflicts_with = "output")]
    serve: Option<PathBuf>,
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
      smark plan -o all.plan build/server build/lib*.so
  For `smark agent` on many machines, beside the server of debug information:
      smark plan --serve /srv/plans build/server build/lib*.so";

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
        let targets = PlanTargets { output: self.output, serve: self.serve, force: self.force };
        targets.check(&inputs)?;
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
        let mut plans = vec![simple_markers_tracer::Plan::default()];
        let mut status = Status::Done;
        for image in selected.resolution.images.iter().filter(|image| image.markers.iter().any(&keep)) {
            let is_same = |it: &&PlannedImage| it.build_id == image.build_id;
            let same = plans.iter().flat_map(|plan| &plan.images).find(is_same).map(|same| same.path.clone());
            let added = match (&image.build_id, same) {
                (None, _) => Err(anyhow::anyhow!("it has no build id, by which a plan knows a program: {LINKER}")),
                (Some(_), Some(same)) => {
                    console.note(&format!("{}: it has the build id of {same}, which is in the plan", image.path));
                    Ok(())
                }
                (Some(_), None) => {
                    let is_full = |plan: &simple_markers_tracer::Plan| !targets.is_one() && !plan.images.is_empty();
                    if plans.last().is_none_or(is_full) {
                        plans.push(simple_markers_tracer::Plan::default());
                    }
                    plans.last_mut().map_or(Ok(()), |plan| add(plan, image, &keep, &settings))
                }
            };
            if let Err(why) = added {
                console.error(&format!("{}: {why}", image.path));
                status = Status::Unreadable;
            }
        }
        status = status.max(selected.report(console, &rows, &chosen));
        plans.iter().for_each(|plan| left_out::tell(console, plan, 0, &HashSet::new(), &|_| true));
        plans.retain(|plan| !plan.sites.is_empty());
        if plans.is_empty() {
            if status == Status::Done {
                bail!("there is no site to watch");
            }
            return Ok(status);
        }
        targets.write(plans, &inputs)?;
        Ok(status)
    }
}

/// Where plans go.
struct PlanTargets {
    /// One file for all images.
    output: Option<PathBuf>,
    /// A folder with a file for each image.
    serve: Option<PathBuf>,
    force: bool,
}

impl PlanTargets {
    fn check(&self, inputs: &[PathBuf]) -> anyhow::Result<()> {
        self.output.iter().try_for_each(|output| output::check(output, inputs, self.force))
    }

    /// Whether all images are in one plan.
    fn is_one(&self) -> bool {
        self.serve.is_none()
    }

    fn write(&self, plans: Vec<simple_markers_tracer::Plan>, inputs: &[PathBuf]) -> anyhow::Result<()> {
        for plan in plans {
            let text = format!("{}\n", plan.to_json());
            let build_id = plan.images.first().and_then(|image| image.build_id.as_deref()).unwrap_or_default();
            let path = match (&self.output, &self.serve) {
                (Some(output), _) => output.clone(),
                (None, Some(folder)) => folder.join(served_path(build_id)),
                (None, None) => continue,
            };
            if let (Some(parent), true) = (path.parent(), self.serve.is_some()) {
                fs::create_dir_all(parent).with_context(|| parent.display().to_string())?;
            }
            output::place(&path, text.as_bytes(), None, inputs, self.force)?;
        }
        Ok(())
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
