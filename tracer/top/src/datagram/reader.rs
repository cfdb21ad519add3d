//! Reads datagrams that anybody may have sent.

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value as Json;
use simple_markers_resolver::json::{self, JsonError};
use simple_markers_resolver::text::shown;

use super::{
    Content, Datagram, INTERVAL, Interval, LINES, Line, NAME, NUMBER, Others, PIDS, Part, Refusal, SIZE, VERSION,
    most_cpu,
};
use crate::table::{Process, Thread, Usage};

/// What every first line has.
#[derive(Deserialize)]
struct HeaderMembers {
    sender: String,
    host: String,
    sequence: u64,
    end: Option<IgnoredAny>,
}

/// What the first line of a part has besides that and its interval.
#[derive(Deserialize)]
struct PartMember {
    part: usize,
}

/// What another line has besides the [`Usage`].
#[derive(Deserialize)]
struct LineMembers {
    pid: Option<u32>,
    tid: Option<u32>,
    comm: Option<String>,
    others: Option<u64>,
    threads: Option<u64>,
    hits: Option<u64>,
    ended: Option<bool>,
}

impl Datagram {
    /// Reads a datagram. Members that it does not know are passed over.
    ///
    /// # Errors
    ///
    /// It is too long, has another version, or a line is malformed, out of range or there twice.
    pub(crate) fn read(bytes: &[u8]) -> Result<Self, Refusal> {
        if bytes.len() > SIZE {
            return Err(Refusal::TooLong);
        }
        let mut lines = bytes.split(|byte| *byte == b'\n').enumerate();
        let first = lines.next().map_or(&[][..], |(_, line)| line);
        let mut datagram = Self::of(first)?;
        let mut rest = lines.filter(|(_, line)| !line.is_empty());
        let Content::Part(part) = &mut datagram.content else {
            return match rest.next() {
                Some((index, _)) => Err(Refusal::Line(index, JsonError::new("", "the last datagram has one line"))),
                None => Ok(datagram),
            };
        };
        for (index, bytes) in rest {
            let line = parsed(bytes).and_then(|line| Line::of(&line, part.interval.length));
            let line = line.map_err(|error| Refusal::Line(index, error))?;
            if part.lines.iter().any(|other| other.key() == line.key()) {
                return Err(Refusal::Line(index, JsonError::new("", "an earlier line is about the same")));
            }
            part.lines.push(line);
        }
        Ok(datagram)
    }

    fn of(line: &[u8]) -> Result<Self, Refusal> {
        let at = |error| Refusal::Line(0, error);
        let line = parsed(line).map_err(at)?;
        if json::read::<VersionMember>(&line).map_err(at)?.smark_top != VERSION {
            return Err(Refusal::Version);
        }
        let HeaderMembers { sender, host, sequence, end } = json::read(&line).map_err(at)?;
        let is_number = sender.len() == 16 && sender.bytes().all(|digit| digit.is_ascii_hexdigit());
        let sender = u64::from_str_radix(&sender, 16).ok().filter(|_| is_number);
        let sender = sender.ok_or_else(|| at(JsonError::new("sender", "it is not 16 hexadecimal digits")))?;
        check(&[("sequence", sequence, NUMBER)]).map_err(at)?;
        let content = match end {
            Some(_) => Content::End,
            None => Content::Part(Part::of(&line).map_err(at)?),
        };
        Ok(Self { sender, host: name("host", &host).map_err(at)?, sequence, content })
    }
}

#[derive(Deserialize)]
struct VersionMember {
    smark_top: u64,
}

impl Part {
    fn of(line: &Json) -> Result<Self, JsonError> {
        let (PartMember { part }, interval) = (json::read(line)?, json::read(line)?);
        let Interval { number, parts, time, length, uncounted } = interval;
        if parts > LINES || part >= parts {
            return Err(JsonError::new("parts", &format!("there is no part {part} of {parts}, or they are too many")));
        }
        if length == 0 {
            return Err(JsonError::new("interval_ns", "it is 0"));
        }
        check(&[
            ("number", number, NUMBER),
            ("time_ns", time, NUMBER),
            ("interval_ns", length, INTERVAL),
            ("uncounted", uncounted, NUMBER),
        ])?;
        Ok(Self { interval, part, lines: Vec::new() })
    }
}

impl Line {
    fn of(line: &Json, interval: u64) -> Result<Self, JsonError> {
        let (usage, members): (Usage, LineMembers) = (json::read(line)?, json::read(line)?);
        let LineMembers { pid, tid, comm, others, threads, hits, ended } = members;
        check(&[
            ("pid", pid.unwrap_or_default().into(), PIDS.into()),
            ("tid", tid.unwrap_or_default().into(), PIDS.into()),
            ("others", others.unwrap_or_default(), NUMBER),
            ("threads", threads.unwrap_or_default(), NUMBER),
            ("cpu_ns", usage.cpu, most_cpu(interval)),
            ("cpu_total_ns", usage.cpu_total, NUMBER),
            ("switches", usage.switches, NUMBER),
            ("preempted", usage.preempted, NUMBER),
            ("wait_max_ns", usage.longest_wait, NUMBER),
            ("hits", hits.unwrap_or_default(), NUMBER),
        ])?;
        let missing = |name| JsonError::new("", &format!("missing field `{name}`"));
        if let Some(processes) = others {
            let threads = threads.ok_or_else(|| missing("threads"))?;
            return Ok(Self::Others(Others { processes, threads, usage, hits }));
        }
        let pid = pid.ok_or_else(|| missing("pid"))?;
        let name = name("comm", &comm.ok_or_else(|| missing("comm"))?)?;
        let has_ended = ended.unwrap_or_default();
        Ok(match tid {
            Some(tid) => Self::Thread(pid, Thread { tid, name, usage, has_ended }),
            None => Self::Process(Process { pid, name, usage, threads: Vec::new(), hits, has_ended }),
        })
    }
}

fn parsed(line: &[u8]) -> Result<Json, JsonError> {
    serde_json::from_slice(line).map_err(|error| JsonError::new("", &format!("not JSON: {error}")))
}

/// Whether no number is larger than the one after it. The texts are the names of their members.
fn check(numbers: &[(&str, u64, u64)]) -> Result<(), JsonError> {
    match numbers.iter().find(|(_, number, most)| number > most) {
        Some((member, number, most)) => Err(JsonError::new(member, &format!("{number} is larger than {most}"))),
        None => Ok(()),
    }
}

/// A name that is safe to print.
fn name(member: &str, name: &str) -> Result<String, JsonError> {
    if name.len() > NAME {
        return Err(JsonError::new(member, &format!("it has {} bytes; {NAME} are possible", name.len())));
    }
    Ok(shown(name).into_owned())
}
