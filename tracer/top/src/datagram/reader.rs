//! Reads datagrams that anybody may have sent.

use serde_json::Value as Json;
use simple_markers_resolver::json::{self, Fault, JsonObject};
use simple_markers_resolver::text::shown;

use super::{
    Content, Datagram, INTERVAL, Interval, LINES, Line, NAME, NUMBER, Others, PIDS, Part, Refusal, SIZE, VERSION,
    most_cpu,
};
use crate::table::{Process, Thread, Usage};

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
        let at = |error| Refusal::Line(0, error);
        let header = parsed(first).map_err(at)?;
        let header = JsonObject::of(&header).map_err(at)?;
        if header.number::<u64>("smark_top").map_err(at)? != VERSION {
            return Err(Refusal::Version);
        }
        let mut datagram = Self::of(header).map_err(at)?;
        let mut rest = lines.filter(|(_, line)| !line.is_empty());
        let Content::Part(part) = &mut datagram.content else {
            // The last datagram has no lines.
            return match rest.next() {
                Some((index, _)) => Err(Refusal::Line(index, json::JsonError::new(Fault::Malformed))),
                None => Ok(datagram),
            };
        };
        for (index, bytes) in rest {
            let line = parsed(bytes).and_then(|line| Line::of(JsonObject::of(&line)?, part.interval.length));
            let line = line.map_err(|error| Refusal::Line(index, error))?;
            if part.lines.iter().any(|other| other.key() == line.key()) {
                return Err(Refusal::Line(index, json::JsonError::new(Fault::Twice)));
            }
            part.lines.push(line);
        }
        Ok(datagram)
    }

    fn of(header: JsonObject<'_>) -> Result<Self, json::JsonError> {
        let sender = header.get("sender", |sender| {
            let digits = sender.as_str()?;
            let is_number = digits.len() == 16 && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
            u64::from_str_radix(digits, 16).ok().filter(|_| is_number)
        })?;
        let (host, sequence) = (name(header, "host")?, number(header, "sequence", NUMBER)?);
        let content = match header.some("end") {
            Some(_) => Content::End,
            None => Content::Part(Part::of(header)?),
        };
        Ok(Self { sender, host, sequence, content })
    }
}

impl Part {
    fn of(header: JsonObject<'_>) -> Result<Self, json::JsonError> {
        let range = |name| json::JsonError::new(Fault::Range).at(name);
        let parts: usize = header.number("parts")?;
        let part = header.number("part")?;
        if parts > LINES || part >= parts {
            return Err(range("parts"));
        }
        let length = number(header, "interval_ns", INTERVAL)?;
        if length == 0 {
            return Err(range("interval_ns"));
        }
        let (number, time) = (number(header, "number", NUMBER)?, number(header, "time_ns", NUMBER)?);
        let uncounted = maybe(header, "uncounted")?.unwrap_or_default();
        Ok(Self { interval: Interval { number, parts, time, length, uncounted }, part, lines: Vec::new() })
    }
}

impl Line {
    fn of(line: JsonObject<'_>, interval: u64) -> Result<Self, json::JsonError> {
        let usage = usage(line, interval)?;
        let hits = maybe(line, "hits")?;
        if line.some("others").is_some() {
            let (processes, threads) = (number(line, "others", NUMBER)?, number(line, "threads", NUMBER)?);
            return Ok(Self::Others(Others { processes, threads, usage, hits }));
        }
        let (pid, name) = (pid(line, "pid")?, name(line, "comm")?);
        let ended = line.some("ended").map(|_| line.get("ended", Json::as_bool)).transpose()?;
        let has_ended = ended.unwrap_or_default();
        if line.some("tid").is_some() {
            let tid = self::pid(line, "tid")?;
            return Ok(Self::Thread(pid, Thread { tid, name, usage, has_ended }));
        }
        Ok(Self::Process(Process { pid, name, usage, threads: Vec::new(), hits, has_ended }))
    }
}

fn parsed(line: &[u8]) -> Result<Json, json::JsonError> {
    serde_json::from_slice(line).map_err(|_| json::JsonError::new(Fault::Malformed))
}

fn number(object: JsonObject<'_>, name: &'static str, most: u64) -> Result<u64, json::JsonError> {
    let number = object.number(name)?;
    if number > most {
        return Err(json::JsonError::new(Fault::Range).at(name));
    }
    Ok(number)
}

/// A number that may be missing.
fn maybe(object: JsonObject<'_>, name: &'static str) -> Result<Option<u64>, json::JsonError> {
    object.some(name).map(|_| number(object, name, NUMBER)).transpose()
}

fn pid(object: JsonObject<'_>, name: &'static str) -> Result<u32, json::JsonError> {
    let pid: u32 = object.number(name)?;
    if pid > PIDS {
        return Err(json::JsonError::new(Fault::Range).at(name));
    }
    Ok(pid)
}

/// A name that is safe to print.
fn name(object: JsonObject<'_>, member: &'static str) -> Result<String, json::JsonError> {
    let name = object.text(member)?;
    if name.len() > NAME {
        return Err(json::JsonError::new(Fault::Range).at(member));
    }
    Ok(shown(name).into_owned())
}

fn usage(line: JsonObject<'_>, interval: u64) -> Result<Usage, json::JsonError> {
    Ok(Usage {
        cpu: number(line, "cpu_ns", most_cpu(interval))?,
        cpu_total: number(line, "cpu_total_ns", NUMBER)?,
        switches: number(line, "switches", NUMBER)?,
        preempted: number(line, "preempted", NUMBER)?,
        longest_wait: number(line, "wait_max_ns", NUMBER)?,
    })
}
