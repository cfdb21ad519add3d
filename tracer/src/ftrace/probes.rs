//! The names of a session's probes in the kernel, and the lines of `uprobe_events`
//! (Documentation/trace/uprobetracer.rst).

use std::collections::BTreeSet;

use simple_markers_resolver::address::FileOffset;

/// Whose probes they are. A number of a process alone may be that of another one later.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Owner {
    /// The number of the process.
    pub process: u32,
    /// When it started, in clock ticks since the machine started.
    pub start: u64,
    /// The number of the namespace that its number is of.
    pub namespace: u64,
    /// The number of the session in the process.
    pub session: u32,
}

impl Owner {
    /// The name of the group of events, in practice of less than 64 bytes.
    #[must_use]
    pub fn group(&self) -> String {
        let Self { process, start, namespace, session } = self;
        format!("smark_{process}_{start}_{namespace}_{session}")
    }

    /// The name of the instance with the hits.
    #[must_use]
    pub fn instance(&self) -> String {
        let Self { process, start, namespace, session } = self;
        format!("smark-{process}-{start}-{namespace}-{session}")
    }

    /// The name of the instance with the threads that are created.
    #[must_use]
    pub fn tasks(&self) -> String {
        format!("{}-tasks", self.instance())
    }

    /// The name of the instance that tells of files that are mapped.
    #[must_use]
    pub fn files(&self) -> String {
        format!("{}-files", self.instance())
    }

    /// The owner of a group or an instance; `None` if it is not one of ours.
    #[must_use]
    pub fn of(name: &str) -> Option<Self> {
        let mut parts = name.split(['_', '-']);
        let is_ours = parts.next() == Some("smark");
        let (process, start) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
        let (namespace, session) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
        let owner = Self { process, start, namespace, session };
        (is_ours && [owner.group(), owner.instance(), owner.tasks(), owner.files()].iter().any(|known| known == name))
            .then_some(owner)
    }
}

/// A probe at an offset of a file, with the offset of its switch, that copies nothing.
#[must_use]
pub fn probe(group: &str, event: &str, path: &str, (offset, switch): (FileOffset, Option<FileOffset>)) -> String {
    let switch = switch.map(|switch| format!("({switch})")).unwrap_or_default();
    format!("p:{group}/{event} {path}:{offset}{switch}")
}

/// The line that sets a probe at an offset of a file, with the offset of the switch that the kernel arms
/// while the event is enabled. `site` is its number, if the event has several sites.
#[must_use]
pub fn definition(
    group: &str,
    event: &str,
    path: &str,
    at: (FileOffset, Option<FileOffset>),
    site: Option<u32>,
    arguments: impl Iterator<Item = String>,
) -> String {
    let mut line = probe(group, event, path, at);
    let site = site.map(|site| format!("{SITE}=\\{site}:u32"));
    // The name of the thread is in no other field.
    for argument in site.into_iter().chain([format!("{NAME}=$comm:string")]).chain(arguments) {
        line.push(' ');
        line.push_str(&argument);
    }
    line.push('\n');
    line
}

/// The field with the number of the site.
pub const SITE: &str = "site";
/// The field with the name of the thread.
pub const NAME: &str = "name";

/// The line that removes an event with all of its probes.
#[must_use]
pub fn removal(group: &str, event: &str) -> String {
    format!("-:{group}/{event}\n")
}

/// The groups and events in the text of `uprobe_events`, each once.
#[must_use]
pub fn events(text: &str) -> BTreeSet<(&str, &str)> {
    text.lines().filter_map(|line| line.split_once(':')?.1.split_whitespace().next()?.split_once('/')).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWNER: Owner = Owner { process: 4_194_304, start: 9_999_999_999, namespace: 4_026_531_836, session: 99 };

    #[test]
    fn names_tell_their_owner() {
        for name in [OWNER.group(), OWNER.instance(), OWNER.tasks(), OWNER.files()] {
            assert_eq!(Owner::of(&name), Some(OWNER), "{name}");
        }
        assert!(OWNER.group().len() < 64, "{}", OWNER.group());
        for name in [
            "smark",
            "smark_1_2_3",
            "smark_1_2_3_4_5",
            "smark-1_2-3-4",
            "smark-1-2-3-4-x",
            "mark_1_2_3_4",
            "smark_01_2_3_4",
        ] {
            assert_eq!(Owner::of(name), None, "{name}");
        }
    }

    #[test]
    fn lines_are_as_the_kernel_reads_them() {
        let arguments = || ["r0=%ax:x64".to_owned()].into_iter();
        let at = (FileOffset(0x13da), None);
        let line = definition("smark_1_2_3", "e0", "/bin/true", at, Some(7), arguments());
        assert_eq!(line, "p:smark_1_2_3/e0 /bin/true:0x13da site=\\7:u32 name=$comm:string r0=%ax:x64\n");
        let line = definition("smark_1_2_3", "e1", "/bin/true", at, None, arguments());
        assert_eq!(line, "p:smark_1_2_3/e1 /bin/true:0x13da name=$comm:string r0=%ax:x64\n");
        let of_probe = (FileOffset(0x13da), Some(FileOffset(0x3040)));
        let line = definition("smark_1_2_3", "e1", "/bin/true", of_probe, None, arguments());
        assert_eq!(line, "p:smark_1_2_3/e1 /bin/true:0x13da(0x3040) name=$comm:string r0=%ax:x64\n");
        assert_eq!(removal("smark_1_2_3", "e1"), "-:smark_1_2_3/e1\n");
        let text = "p:smark_1_2_3/e0 /a:0x1\nr:other/x /b:0x2\np:smark_1_2_3/e0 /a:0x9 site=\\1:u32\nnonsense\n";
        assert_eq!(events(text).into_iter().collect::<Vec<_>>(), [("other", "x"), ("smark_1_2_3", "e0")]);
    }
}
