//! `--kernel`: the kernels for which uprobes are judged.

use clap::Args;
use simple_markers_resolver::uprobe_rules::{ALL_KERNELS, LinuxVersion, UprobeRules};

/// The kernels of a command.
#[derive(Debug, Args)]
pub(crate) struct Kernels {
    /// Judge uprobes for this version of Linux, as 6.1; may be given several times [default: all that are
    /// supported, and the worst counts]
    #[arg(long = "kernel", value_name = "VERSION")]
    versions: Vec<LinuxVersion>,
}

impl Kernels {
    /// Their rules.
    pub(crate) fn rules(&self) -> Vec<&dyn UprobeRules> {
        match &self.versions[..] {
            [] => ALL_KERNELS.to_vec(),
            versions => versions.iter().map(|version| version as &dyn UprobeRules).collect(),
        }
    }
}
