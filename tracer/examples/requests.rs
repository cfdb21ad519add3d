//! Writes a recording of a simulated server without a kernel: `requests FOLDER HITS HOST [SEED]`.
//!
//! The hits are those of `queue:submit` and `queue:complete`: requests begin and end in several
//! threads, some with the tag of one that is open, and some ends have no begin. Some arguments
//! cannot be read. With `HOST` empty, all hits are those of `queue:submit` with four integers in
//! four threads, and the recording does not say where it was made.
//!
//! `benches/parquet` and the tests of tables read it.

use std::env;
use std::error::Error;
use std::fs::{self, File};
use std::io::{BufWriter, Write as _};
use std::path::Path;

use simple_markers_resolver::address::{FileOffset, Vaddr};
use simple_markers_resolver::export::fetch::NumberKind::{self, Float, Pointer, Signed, Unsigned};
use simple_markers_tracer::ctf::description::RecordingOrigin;
use simple_markers_tracer::ctf::{self, Description, Writer, metadata::metadata};
use simple_markers_tracer::frames::EventStacks;
use simple_markers_tracer::hit::Body;
use simple_markers_tracer::plan::{
    Aggregate, ImageFile, PlannedArgument, PlannedImage, PlannedMarker, PlannedSite, Reading, Source,
};
use simple_markers_tracer::{Hit, Missing, Plan, Value};

/// 2026-11-28T13:59:00Z.
const EPOCH: u64 = 1_795_874_340_000_000_000;

/// The time between two hits with several markers: the hits go from one hour to the next.
const STEP: u64 = 40_000_000;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [folder, hits, host, seed @ ..] = &*arguments else { return Err("requests FOLDER HITS HOST [SEED]".into()) };
    let (folder, hits, seed) = (Path::new(folder), hits.parse()?, seed.first().map_or(Ok(1), |seed| seed.parse())?);
    let plan = plan(host, seed);
    let origin = (!host.is_empty()).then(|| RecordingOrigin {
        host: Some(host.clone()),
        boot: Some(format!("00000000-0000-4000-8000-{seed:012x}")),
        program: Some("server".into()),
    });
    let uuid = (u128::from(seed) << 64 | 0x4000_8000_0000_0000_0000).to_be_bytes();
    let description = Description { uuid, tool: "0.1.0".into(), clock_offset: EPOCH, origin, ..Description::default() };
    let mut writer = Writer::new(description, &plan, 256 << 10);
    fs::create_dir_all(folder.join(ctf::FOLDER))?;
    let mut stream = BufWriter::new(File::create(folder.join(ctf::STREAM))?);
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let mut requests = Requests::default();
    let lost = if host.is_empty() { 0 } else { 17 };
    for number in 0..hits {
        let hit = match host.is_empty() {
            true => four(&plan, number, &mut requests, &mut random),
            false => requests.next(&plan, number, &mut random),
        };
        if let Some(packet) = writer.write(&hit) {
            stream.write_all(&packet.bytes)?;
            writer.reuse(packet);
        }
        if number == hits / 2 {
            writer.set_lost(lost);
        }
    }
    if let Some(packet) = writer.finish() {
        stream.write_all(&packet.bytes)?;
    }
    stream.flush()?;
    let description = writer.description();
    fs::write(folder.join(ctf::METADATA), metadata(description))?;
    fs::write(folder.join(ctf::DESCRIPTION), description.to_json().to_string())?;
    let end = format!("{{\"hits\":{},\"lost\":{lost},\"recorded\":{hits},\"exit\":0,\"stopped\":null}}", hits + lost);
    fs::write(folder.join(ctf::END), end)?;
    Ok(())
}

/// A generator of random numbers (xorshift64*).
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) % end
    }
}

/// The requests that began and did not end yet.
#[derive(Default)]
struct Requests {
    open: Vec<(u64, u32)>,
    time: u64,
}

impl Requests {
    fn next<'p>(&mut self, plan: &'p Plan, number: u64, random: &mut Random) -> Hit<'p> {
        self.time += 1 + random.below(STEP);
        let thread = 100 + random.below(4) as u32;
        if self.open.is_empty() || self.open.len() < 40 && random.below(100) < 52 {
            // Now and then the tag of one that is open.
            let tag = self.open.first().filter(|_| random.below(20) == 0).map_or(number, |(tag, _)| *tag);
            self.open.push((tag, thread));
            let sectors = match random.below(50) {
                0 => Err(Missing::Unreadable { at: None }),
                _ => Ok(integer(1 + random.below(64), 4, Unsigned)),
            };
            let values = vec![
                Ok(integer(tag, 8, Unsigned)),
                sectors,
                Ok(integer(0x7f00_0000_0000 + random.below(1 << 24) * 8, 8, Pointer)),
                Ok(integer(self.open.len() as u64, 4, Signed)),
            ];
            return hit(plan, 0, self.time, thread, values);
        }
        let (tag, thread) = match random.below(25) {
            0 => (number, thread),
            _ => self.open.swap_remove(random.below(self.open.len() as u64) as usize),
        };
        let (status, error) = match random.below(10) {
            0 => (-5i32, Ok(Value::Text { bytes: b"timed out", is_cut: false })),
            1 => (-12, Ok(Value::Text { bytes: "kein Speicher \u{2014} \"voll\"".as_bytes(), is_cut: false })),
            2 => (-12, Err(Missing::Unreadable { at: Some(0x10) })),
            _ => (0, Ok(Value::Null)),
        };
        let share = (random.below(1000) as f64 / 8.0).to_bits();
        let values = vec![
            Ok(integer(tag, 8, Unsigned)),
            Ok(integer(u64::from(status as u32), 4, Signed)),
            error,
            Ok(Value::Number { bits: share, size: 8, kind: Float }),
        ];
        hit(plan, 1, self.time, thread, values)
    }
}

/// A hit with four integers: one that counts, and random ones of 6, 24 and 3 bits.
fn four<'p>(plan: &'p Plan, number: u64, requests: &mut Requests, random: &mut Random) -> Hit<'p> {
    requests.time += 1 + random.below(4096);
    let values = vec![
        Ok(integer(number, 8, Unsigned)),
        Ok(integer(random.below(64), 4, Unsigned)),
        Ok(integer(0x7f00_0000_0000 + random.below(1 << 24), 8, Pointer)),
        Ok(integer(random.below(8), 4, Signed)),
    ];
    let thread = 100 + random.below(4) as u32;
    hit(plan, 0, requests.time, thread, values)
}

fn integer(bits: u64, size: u8, kind: NumberKind) -> Value<'static> {
    Value::Number { bits, size, kind }
}

fn hit<'p>(
    plan: &'p Plan,
    number: usize,
    time: u64,
    thread: u32,
    values: Vec<Result<Value<'p>, Missing<'p>>>,
) -> Hit<'p> {
    let site = &plan.sites[number];
    Hit {
        time,
        cpu: thread % 2,
        process: 100,
        thread,
        name: if thread % 2 == 0 { b"server" } else { b"worker" },
        number,
        site,
        address: Some(site.address),
        marker: &plan.markers[site.marker],
        image: &plan.images[site.image],
        plan,
        body: Body::Values { values, takes_doubtful: false, stacks: EventStacks::default() },
    }
}

fn plan(host: &str, seed: u64) -> Plan {
    let number = |text: &str, field, size, kind: NumberKind| {
        PlannedArgument::new(text.into(), Source::Read(Reading::Number { field, size, kind }))
    };
    let submit = vec![
        number("tag", 0, 8, Unsigned),
        number("sectors", 1, 4, Unsigned),
        number("request->sector", 2, 8, Pointer),
        number("depth", 3, 4, Signed),
    ];
    let complete = vec![
        number("tag", 0, 8, Unsigned),
        number("status", 1, 4, Signed),
        PlannedArgument::new("error".into(), Source::Read(Reading::Text { field: 2 })),
        number("share", 3, 8, Float),
    ];
    let formats = ["request %lu: %u sectors from %p, %d in flight", "request %lu: %d %s %f"];
    let marker = |(name, format): (&str, &str), line| PlannedMarker {
        image: 0,
        name: name.into(),
        file: "queue.rs".into(),
        line,
        format: format.into(),
        sites: 1,
        task_point: None,
        event: None,
    };
    let site = |marker, arguments| PlannedSite {
        image: 0,
        marker,
        function: Some("serve".into()),
        address: Vaddr(0x1000 + 16 * marker as u64),
        probe: Vaddr(0x1000 + 16 * marker as u64),
        offset: FileOffset(0x1000 + 16 * marker as u64),
        switch: None,
        entry_stack_pointer: None,
        task: None,
        frame: None,
        inputs: Vec::new(),
        members: Vec::new(),
        notes_task: false,
        filter: None,
        aggregate: Aggregate::Hits,
        recorded: None,
        exit: None,
        arguments,
    };
    let mut plan = Plan {
        images: vec![PlannedImage {
            path: "/usr/bin/server".into(),
            file: ImageFile::default(),
            module: "server".into(),
            build_id: Some(format!("{:040x}", 0xb1d + seed % 3)),
            thread_local_size: None,
            platform: None,
        }],
        markers: vec![marker(("queue:submit", formats[0]), 1)],
        sites: vec![site(0, submit)],
        ..Plan::default()
    };
    if !host.is_empty() {
        plan.markers.push(marker(("queue:complete", formats[1]), 9));
        plan.sites.push(site(1, complete));
    }
    plan
}
