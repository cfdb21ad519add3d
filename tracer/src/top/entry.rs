//! What the kernel's programs know of a thread: the layout of the keys and values of the map
//! [`crate::bpf::Map::Threads`], for the writer (`crate::bpf::top`) and the reader.

/// The size of a key in bytes: the address of the thread's `task_struct`, and when the thread
/// started. A thread that calls `execve` may get another number; its address stays.
pub const KEY_SIZE: u32 = 16;
/// The size of a value in bytes.
pub const VALUE_SIZE: u32 = 192;
/// The most bytes of a name in the kernel (`TASK_COMM_LEN`).
pub const NAME_SIZE: u32 = 16;

/// Its CPU time when it last left a CPU, in ns (`se.sum_exec_runtime`).
pub(crate) const CPU: i16 = 0;
/// How often it left a CPU by itself (`nvcsw`).
pub(crate) const VOLUNTARY: i16 = 8;
/// How often it left a CPU while it could run on (`nivcsw`).
pub(crate) const INVOLUNTARY: i16 = 16;
/// How long it waited for a CPU altogether, in ns, when it last left one (`sched_info.run_delay`).
pub(crate) const WAITED: i16 = 24;
/// Two slots of an interval and the longest wait in it. An interval has the slot of its lowest bit.
pub(crate) const WAITS: i16 = 32;
/// Its CPU time when it was last seen on a CPU.
pub(crate) const SEEN_CPU: i16 = 64;
/// How long it waited altogether when it was last seen on a CPU.
pub(crate) const SEEN_WAITED: i16 = 72;
/// The interval in which it was last seen on a CPU after a wait, and the wait.
pub(crate) const SEEN_WAIT: i16 = 80;
/// The number of its process.
pub(crate) const PROCESS: i16 = 96;
/// Its own number.
pub(crate) const THREAD: i16 = 100;
/// [`IS_SEEDED`], [`HAS_ENDED`] and [`PROCESS_HAS_ENDED`].
pub(crate) const FLAGS: i16 = 104;
/// The control group of version 2.
pub(crate) const GROUP: i16 = 112;
/// Its name.
pub(crate) const NAME: i16 = 120;
/// The name of the first thread of its process.
pub(crate) const PROCESS_NAME: i16 = 136;
/// When its process started, in ns (`CLOCK_BOOTTIME`).
pub(crate) const PROCESS_START: i16 = 152;
/// The CPU time of the threads of its process that had ended when this one was first seen.
pub(crate) const ENDED_BEFORE: i16 = 160;
/// The interval in which all threads were visited, and this one was there.
pub(crate) const VISITED: i16 = 168;

/// The thread was there before the programs were attached.
pub(crate) const IS_SEEDED: u32 = 1;
/// It left its CPU for the last time. The programs write nothing after it.
pub(crate) const HAS_ENDED: u32 = 2;
/// All threads of its process have ended.
pub(crate) const PROCESS_HAS_ENDED: u32 = 4;

/// In place of a control group: there is none at the level that is noted.
pub const NO_GROUP: u64 = u64::MAX;

/// A thread, as the programs know it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Entry {
    /// The address of its `task_struct`.
    pub task: u64,
    /// When it started, in ns (`CLOCK_BOOTTIME`).
    pub start: u64,
    /// The number of its process.
    pub pid: u32,
    /// Its number.
    pub tid: u32,
    /// When its process started.
    pub process_start: u64,
    /// Its name.
    pub name: String,
    /// The name of the first thread of its process.
    pub process_name: String,
    /// Its CPU time since it was created, in ns.
    pub cpu: u64,
    /// How often it left a CPU by itself.
    pub voluntary: u64,
    /// How often it left a CPU while it could run on.
    pub involuntary: u64,
    /// The intervals and the longest wait for a CPU in each of them, in ns.
    pub waits: [(u64, u64); 3],
    /// The CPU time of the threads of its process that had ended when this one was first seen.
    pub ended_before: u64,
    /// The control group at the level that is noted, or [`NO_GROUP`]; 0 if it is not known.
    pub group: u64,
    /// The last interval in which all threads were visited, and this one was there.
    pub visited: u64,
    /// Whether it was there before the programs were attached.
    pub is_seeded: bool,
    /// Whether it has ended.
    pub has_ended: bool,
    /// Whether its process has ended.
    pub process_has_ended: bool,
}

impl Entry {
    /// The entry of a key and its value; `None` if they are too short.
    #[must_use]
    pub fn new(key: &[u8], value: &[u8]) -> Option<Self> {
        let word =
            |bytes: &[u8], at: i16| Some(u64::from_ne_bytes(*bytes.get(usize::try_from(at).ok()?..)?.first_chunk()?));
        let half = |at: i16| Some(u32::from_ne_bytes(*value.get(usize::try_from(at).ok()?..)?.first_chunk()?));
        let name = |at: i16| {
            let bytes: &[u8; NAME_SIZE as usize] = value.get(usize::try_from(at).ok()?..)?.first_chunk()?;
            let text = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
            Some(String::from_utf8_lossy(text).into_owned())
        };
        let pair = |at: i16| Some((word(value, at)?, word(value, at + 8)?));
        let flags = half(FLAGS)?;
        let (cpu, seen_cpu) = (word(value, CPU)?, word(value, SEEN_CPU)?);
        Some(Self {
            task: word(key, 0)?,
            start: word(key, 8)?,
            pid: half(PROCESS)?,
            tid: half(THREAD)?,
            process_start: word(value, PROCESS_START)?,
            name: name(NAME)?,
            process_name: name(PROCESS_NAME)?,
            // What was seen on a CPU has a part that is computed. The end is exact.
            cpu: if flags & HAS_ENDED != 0 { cpu } else { cpu.max(seen_cpu) },
            voluntary: word(value, VOLUNTARY)?,
            involuntary: word(value, INVOLUNTARY)?,
            waits: [pair(WAITS)?, pair(WAITS + 16)?, pair(SEEN_WAIT)?],
            ended_before: word(value, ENDED_BEFORE)?,
            group: word(value, GROUP)?,
            visited: word(value, VISITED)?,
            is_seeded: flags & IS_SEEDED != 0,
            has_ended: flags & HAS_ENDED != 0,
            process_has_ended: flags & PROCESS_HAS_ENDED != 0,
        })
    }

    /// The longest wait in an interval, in ns.
    #[must_use]
    pub fn longest_wait(&self, interval: u64) -> u64 {
        self.waits.iter().filter(|(of, _)| *of == interval).map(|(_, wait)| *wait).max().unwrap_or(0)
    }

    /// The key of the map.
    #[must_use]
    pub fn key(&self) -> [u8; KEY_SIZE as usize] {
        let mut key = [0; KEY_SIZE as usize];
        let words = self.task.to_ne_bytes().into_iter().chain(self.start.to_ne_bytes());
        key.iter_mut().zip(words).for_each(|(to, from)| *to = from);
        key
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_read() {
        let mut value = [0u8; VALUE_SIZE as usize];
        let mut put = |at: i16, bytes: &[u8]| value[at as usize..][..bytes.len()].copy_from_slice(bytes);
        put(CPU, &70u64.to_ne_bytes());
        put(SEEN_CPU, &90u64.to_ne_bytes());
        put(WAITS + 16, &3u64.to_ne_bytes());
        put(WAITS + 24, &11u64.to_ne_bytes());
        put(SEEN_WAIT, &3u64.to_ne_bytes());
        put(SEEN_WAIT + 8, &12u64.to_ne_bytes());
        put(PROCESS, &7u32.to_ne_bytes());
        put(THREAD, &8u32.to_ne_bytes());
        put(NAME, b"worker\0\xff");
        put(PROCESS_NAME, b"sixteen letters!");
        let key = Entry { task: 5, start: 6, ..Entry::default() }.key();
        let entry = Entry::new(&key, &value).unwrap();
        assert_eq!((entry.task, entry.start, entry.pid, entry.tid, entry.cpu), (5, 6, 7, 8, 90));
        assert_eq!((&*entry.name, &*entry.process_name), ("worker", "sixteen letters!"));
        assert_eq!([2, 3, 0].map(|interval| entry.longest_wait(interval)), [0, 12, 0]);
        value[FLAGS as usize] = (HAS_ENDED | PROCESS_HAS_ENDED) as u8;
        let entry = Entry::new(&key, &value).unwrap();
        assert_eq!((entry.cpu, entry.has_ended, entry.process_has_ended, entry.is_seeded), (70, true, true, false));
        for end in 0..value.len() {
            assert!(Entry::new(&key, &value[..end]).is_none_or(|_| end >= VISITED as usize + 8));
        }
        assert_eq!(Entry::new(&key[..15], &value), None);
    }
}
