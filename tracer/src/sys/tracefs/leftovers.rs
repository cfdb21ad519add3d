//! Whose probes and instances they are, and what killed processes left.

use std::collections::BTreeSet;
use std::fs;
use std::sync::atomic::{AtomicU32, Ordering};

use super::super::process_stat::ProcessStat;
use super::files::{Root, append};
use crate::ftrace::probes::{Owner, events, removal};

/// The number of the next session of this process.
static NEXT: AtomicU32 = AtomicU32::new(0);

/// The owner of what a new session of this process creates. `None` without `/proc`.
pub(super) fn owner() -> Option<Owner> {
    let process = fs::read_link("/proc/self").ok()?.to_str()?.parse().ok()?;
    let session = NEXT.fetch_add(1, Ordering::Relaxed);
    Some(Owner { process, start: start(process)?, namespace: namespace()?, session })
}

/// When a process started, in clock ticks since the machine started. `None` if there is none.
fn start(process: u32) -> Option<u64> {
    ProcessStat::of(process).filter(|stat| !stat.has_ended()).map(|stat| stat.start)
}

fn namespace() -> Option<u64> {
    let link = fs::read_link("/proc/self/ns/pid").ok()?;
    link.to_str()?.strip_prefix("pid:[")?.strip_suffix(']')?.parse().ok()
}

/// Removes what processes left that are gone. It changes nothing else, and does nothing without the
/// right to.
pub(crate) fn remove() {
    let (Ok(root), Some(namespace)) = (Root::find(), namespace()) else { return };
    // A process of another namespace has a number that we do not see.
    let is_left = |owner: &Owner| owner.namespace == namespace && start(owner.process) != Some(owner.start);
    let instances = root.instances();
    let probes = root.read("uprobe_events").unwrap_or_default();
    let events = events(&probes);
    let named = instances.iter().map(String::as_str).chain(events.iter().map(|(group, _)| *group));
    let owners: BTreeSet<Owner> = named.filter_map(Owner::of).filter(is_left).collect();
    for owner in owners {
        let group = owner.group();
        let of_owner = || instances.iter().filter(|instance| Owner::of(instance) == Some(owner));
        for instance in of_owner() {
            let folder = root.path("instances").join(instance);
            let _ = append(&folder.join("events/enable"), "0");
        }
        for (_, event) in events.iter().filter(|(of, _)| *of == group) {
            let _ = root.change_probes(&removal(&group, event));
        }
        for instance in of_owner() {
            let _ = fs::remove_dir(root.path("instances").join(instance));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_has_a_start() {
        let (first, second) = (owner().expect("an owner"), owner().expect("an owner"));
        assert_eq!((first.process, first.start), (std::process::id(), second.start));
        assert_ne!(first.session, second.session);
        assert!(first.start > 0);
        assert_eq!(start(u32::MAX), None);
    }
}
