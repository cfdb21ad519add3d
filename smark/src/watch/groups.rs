//! The control group that is watched.

use std::path::PathBuf;

use clap::Args;
use simple_markers_tracer::sys::groups::Group;

/// The options that choose a control group.
#[derive(Debug, Args)]
pub(crate) struct GroupChoice {
    /// Only what runs in this control group (version 2) and those below it, now or later: a path, such as /system.slice, or its
    /// number
    #[arg(long, value_name = "PATH|ID")]
    cgroup: Option<PathBuf>,
}

impl GroupChoice {
    /// The option that was given.
    pub(crate) fn name(&self) -> Option<&'static str> {
        self.cgroup.as_ref().map(|_| "--cgroup")
    }

    /// The group; `None` if none was asked for.
    pub(crate) fn find(&self) -> anyhow::Result<Option<Group>> {
        Ok(self.cgroup.as_deref().map(Group::find).transpose()?)
    }
}
