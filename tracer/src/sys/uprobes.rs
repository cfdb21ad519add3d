//! How programs are attached at uprobes: by one link for many places (Linux 6.6), or by an event of perf for
//! each place. A link to an event hands a number to the program (Linux 5.15); before, the number is in the
//! program, of which each place has its own. What the kernel offers is tried, and no version is asked for.
//!
//! To remove such an event takes the kernel some 20 ms, one after the other. So many places share an event of
//! tracefs, if that can be used. The program finds the number of the place by the lowest bits of its address,
//! which differ among the places of an event.

use std::collections::HashSet;
use std::ffi::CString;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::Ordering;

use simple_markers_resolver::address::FileOffset;

use super::bpf::{self, At, Kind};
use super::error::{Error, Step};
use super::events::{self, Attributes, DISABLED, TYPE_TRACEPOINT};
use super::mapping::Mapping;
use super::tracefs::ProbeEvent;
use crate::arch::Platform;
use crate::bpf::cookie::{PLACES, find_cookie, set_cookie};
use crate::bpf::{Code, Map, program};

/// The number of the type of perf's events at uprobes.
const TYPE: &str = "/sys/bus/event_source/devices/uprobe/type";
/// In the configuration of an event, the lowest bit of the offset of a switch.
const SWITCH: u32 = 32;

/// How programs are attached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Uprobes {
    means: Means,
    can_sleep: bool,
    has_exchange: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Means {
    /// A link for many places.
    Multi { filters_processes: bool },
    /// Events of this type.
    Events { of: u32, has_cookies: bool },
}

/// The most places that have events of their own.
const FEW: usize = 8;

/// A program for uprobes.
#[derive(Debug)]
pub(super) struct UprobeProgram {
    /// The instructions, which ask for the cookie.
    code: Vec<u8>,
    is_sleepable: bool,
    /// The program that gets it; `None` if each place needs a program of its own.
    shared: Option<OwnedFd>,
}

/// An attached program. It is detached when this is dropped.
#[derive(Debug)]
pub(super) struct UprobeLink {
    /// It is closed before the event is removed.
    _open: OwnedFd,
    _event: Option<ProbeEvent>,
}

impl From<OwnedFd> for UprobeLink {
    fn from(open: OwnedFd) -> Self {
        Self { _open: open, _event: None }
    }
}

impl Uprobes {
    /// Finds out what the kernel offers.
    pub(super) fn find() -> Result<Self, Error> {
        let missing = |errno| Error::new(Step::Program, &io::Error::from_raw_os_error(errno));
        let code = program::nothing().map_err(|_| missing(libc::E2BIG))?.link(&|_| -1);
        let multi = bpf::load(&code, Kind::Uprobes { is_sleepable: true }).and_then(|program| {
            bpf::check_attach(&program)?;
            Ok(bpf::filters_processes(&program))
        });
        let why = match multi {
            Ok(filters_processes) => {
                return Ok(Self { means: Means::Multi { filters_processes }, can_sleep: true, has_exchange: true });
            }
            Err(why) if why.is_permission() => return Err(why),
            Err(why) => why,
        };
        let of = event_type().ok_or(why)?;
        // No file has this name. The right is looked at before.
        match open(of, "", At::default(), None) {
            Err(why) if why.is_permission() => return Err(why),
            _ => {}
        }
        let load = |is_sleepable| bpf::load(&code, Kind::Uprobe { is_sleepable });
        let has_cookies = events::has_cookies(&load(false)?);
        let can_sleep = load(true).is_ok();
        let code = program::exchange().map_err(|_| missing(libc::E2BIG))?.link(&|_| -1);
        let has_exchange = bpf::load(&code, Kind::Uprobe { is_sleepable: false }).is_ok();
        Ok(Self { means: Means::Events { of, has_cookies }, can_sleep, has_exchange })
    }

    /// Whether there are atomic operations that return a value.
    pub(super) fn has_exchange(self) -> bool {
        self.has_exchange
    }

    /// Whether programs may sleep, so that they can read memory that is not present.
    pub(super) fn can_sleep(self) -> bool {
        self.can_sleep
    }

    /// Whether probes can be limited to a process, with all of its threads.
    pub(super) fn filters_processes(self) -> bool {
        matches!(self.means, Means::Multi { filters_processes: true })
    }

    /// Loads a program.
    pub(super) fn load(
        self,
        code: &Code,
        descriptor: &dyn Fn(Map) -> i32,
        is_sleepable: bool,
    ) -> Result<UprobeProgram, Error> {
        let code = code.link(descriptor);
        let shared = match self.means {
            Means::Multi { .. } => Some(bpf::load(&code, Kind::Uprobes { is_sleepable })?),
            Means::Events { has_cookies: true, .. } => Some(bpf::load(&code, Kind::Uprobe { is_sleepable })?),
            Means::Events { has_cookies: false, .. } => None,
        };
        Ok(UprobeProgram { code, is_sleepable, shared })
    }

    /// Attaches a program to places in a file, in one process or in all. The probes are removed, and
    /// switches disarmed, when what is returned is closed.
    pub(super) fn attach(
        self,
        program: &UprobeProgram,
        path: &str,
        at: &[At],
        process: Option<u32>,
    ) -> Result<Vec<UprobeLink>, Error> {
        let has_switch = at.iter().any(|at| at.switch != 0);
        match self.attach_as_is(program, path, at, process) {
            // The kernel takes no second uprobe with another switch, or without one, at an instruction. Without
            // switches it says whether that is why.
            Err(why) if why.errno == libc::EINVAL && has_switch => {
                let without: Vec<At> = at.iter().map(|at| At { switch: 0, ..*at }).collect();
                let is_other = self.attach_as_is(program, path, &without, process).is_ok();
                Err(if is_other { Error { step: Step::Switch, ..why } } else { why })
            }
            result => result,
        }
    }

    fn attach_as_is(
        self,
        program: &UprobeProgram,
        path: &str,
        at: &[At],
        process: Option<u32>,
    ) -> Result<Vec<UprobeLink>, Error> {
        let of = match (self.means, &program.shared) {
            (Means::Multi { .. }, None) => return Ok(Vec::new()),
            (Means::Multi { .. }, Some(program)) => {
                return bpf::attach_many(program, path, at, process).map(|link| vec![link.into()]);
            }
            (Means::Events { of, .. }, _) => of,
        };
        if at.len() > FEW && process.is_none() {
            let together: Result<Vec<_>, _> = apart(at).iter().map(|at| program.attach_together(path, at)).collect();
            // If tracefs cannot be used, or the program has no space for the function, there is another way.
            if together.is_ok() {
                return together;
            }
        }
        at.iter().map(|at| program.attach_alone(of, path, *at, process)).collect()
    }
}

/// The type of perf's events at uprobes; `None` if the kernel has none.
pub(super) fn event_type() -> Option<u32> {
    std::fs::read_to_string(TYPE).ok()?.trim().parse().ok()
}

/// Places by groups in which the lowest bits of the offsets differ.
fn apart(at: &[At]) -> Vec<Vec<At>> {
    let mut groups: Vec<(HashSet<u64>, Vec<At>)> = Vec::new();
    for at in at {
        let low = at.offset % PLACES;
        match groups.iter_mut().find(|(known, _)| !known.contains(&low)) {
            Some((known, group)) => {
                known.insert(low);
                group.push(*at);
            }
            None => groups.push((HashSet::from([low]), vec![*at])),
        }
    }
    groups.into_iter().map(|(_, group)| group).collect()
}

impl UprobeProgram {
    /// Attaches it to an event of perf at a place.
    fn attach_alone(&self, of: u32, path: &str, at: At, process: Option<u32>) -> Result<UprobeLink, Error> {
        let event = open(of, path, at, process)?;
        if let Some(program) = &self.shared {
            // The link keeps the event open.
            return events::link(program, &event, at.cookie).map(UprobeLink::from);
        }
        let code = set_cookie(&self.code, at.cookie);
        let program = bpf::load(&code, Kind::Uprobe { is_sleepable: self.is_sleepable })?;
        events::set_program(&event, &program)?;
        Ok(event.into())
    }

    /// Attaches it to an event of tracefs at places in which the lowest bits of the offsets differ.
    fn attach_together(&self, path: &str, at: &[At]) -> Result<UprobeLink, Error> {
        let size = PLACES as usize * 8;
        let map = bpf::KernelMap::mappable(size as u32)?;
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let cookies = Mapping::new(map.descriptor(), access, size, 0).map_err(|why| Error::new(Step::Map, &why))?;
        for at in at {
            if let Some(cookie) = cookies.word((at.offset % PLACES) as usize) {
                cookie.store(at.cookie, Ordering::Relaxed);
            }
        }
        let too_long = |_| Error::new(Step::Program, &io::Error::from_raw_os_error(libc::E2BIG));
        let unknown = || Error::new(Step::Program, &io::Error::from_raw_os_error(libc::ENOTSUP));
        let instruction_pointer = Platform::HOST.ok_or_else(unknown)?.conventions().instruction_pointer();
        let code = find_cookie(&self.code, map.descriptor(), instruction_pointer).map_err(too_long)?;
        let program = bpf::load(&code, Kind::Uprobe { is_sleepable: self.is_sleepable })?;
        let offset = |at: &At| (FileOffset(at.offset), (at.switch != 0).then_some(FileOffset(at.switch)));
        let event = ProbeEvent::define(path, at.iter().map(offset))?;
        let open = events::open(&Attributes::new(TYPE_TRACEPOINT, event.id()?, DISABLED), -1, 0)?;
        events::set_program(&open, &program)?;
        Ok(UprobeLink { _open: open, _event: Some(event) })
    }
}

/// Opens perf's event at a place in a file.
fn open(of: u32, path: &str, at: At, process: Option<u32>) -> Result<OwnedFd, Error> {
    let invalid = || Error::new(Step::Attach, &io::Error::from_raw_os_error(libc::EINVAL));
    let path = CString::new(path).map_err(|_| invalid())?;
    let switch = u32::try_from(at.switch).map_err(|_| invalid())?;
    let attributes = Attributes::new(of, u64::from(switch) << SWITCH, DISABLED).at(path.as_ptr() as u64, at.offset);
    // One for all CPUs: programs that are attached to it run on all of them.
    let (thread, cpu) = match process {
        Some(process) => (libc::pid_t::try_from(process).map_err(|_| invalid())?, -1),
        None => (-1, 0),
    };
    events::open(&attributes, thread, cpu)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lowest_bits_differ_in_a_group() {
        let at = |offset| At { offset, ..At::default() };
        let groups = apart(&[at(0x1010), at(0x2010), at(0x1020), at(0x3010), at(0x2020)]);
        let expected = [vec![at(0x1010), at(0x1020)], vec![at(0x2010), at(0x2020)], vec![at(0x3010)]];
        assert_eq!(groups, expected);
    }
}
