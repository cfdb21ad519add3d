//! The control group that is watched, which may be that of a container.

use std::path::PathBuf;

use clap::Args;
use simple_markers_tracer::sys::groups::Group;

use crate::containers;

/// The options that choose a control group.
#[derive(Debug, Args)]
pub(crate) struct GroupChoice {
    /// Only what runs in this control group (version 2) and those below it, now or later: a path, such as /system.slice, or its
    /// number
    #[arg(long, value_name = "PATH|ID")]
    cgroup: Option<PathBuf>,
    /// Only what runs in this container of docker, podman, containerd, CRI-O or Kubernetes: its name, its ID, or four or more of the
    /// first digits of that
    #[arg(long, value_name = "NAME|ID", conflicts_with = "cgroup")]
    container: Option<String>,
}

impl GroupChoice {
    /// The option that was given.
    pub(crate) fn name(&self) -> Option<&'static str> {
        let container = self.container.as_ref().map(|_| "--container");
        container.or(self.cgroup.as_ref().map(|_| "--cgroup"))
    }

    /// The group; `None` if none was asked for.
    pub(crate) fn find(&self) -> anyhow::Result<Option<Group>> {
        match &self.container {
            Some(name) => containers::find(name).map(Some),
            None => Ok(self.cgroup.as_deref().map(Group::find).transpose()?),
        }
    }
}
