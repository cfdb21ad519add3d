//! Why probes are not armed or handled.

const UNSUPPORTED: &str = "programs record their probes on Linux on x86-64 and AArch64 only";

/// Why probes are not armed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ArmError {
    /// A tool has armed probes of this program.
    Tool {
        /// The process id of the tool.
        pid: u32,
    },
    /// There is no recorder for this target.
    Unsupported,
    /// Another thread arms or disarms probes at this moment.
    Busy,
    /// Probes are armed already, and they are recorded in another folder.
    OtherFolder,
    /// The folder or its `metadata` cannot be made.
    Folder {
        /// The number of the error, as in `errno`: `EEXIST` if the folder exists, `ENAMETOOLONG` if
        /// its path has more than 447 bytes.
        errno: i32,
    },
}

impl core::fmt::Display for ArmError {
    fn fmt(&self, out: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Tool { pid } => write!(out, "the tool with process id {pid} has armed probes of this program"),
            Self::Unsupported => out.write_str(UNSUPPORTED),
            Self::Busy => out.write_str("another thread is arming or disarming probes"),
            Self::OtherFolder => out.write_str("probes are recorded in another folder"),
            Self::Folder { errno } => write!(out, "the folder cannot be made (error {errno})"),
        }
    }
}

impl core::error::Error for ArmError {}

/// Why a handler is not set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum HandleError {
    /// There is no recorder for this target.
    Unsupported,
    /// Another thread arms or handles probes at this moment.
    Busy,
    /// A probe has another number of arguments.
    Count {
        /// The name of the probe.
        probe: &'static str,
        /// How many arguments the probe has.
        arguments: usize,
        /// How many the handler takes.
        asked: usize,
    },
    /// An argument of a probe has another type.
    Type {
        /// The name of the probe.
        probe: &'static str,
        /// The argument, as written.
        argument: &'static str,
        /// Its type.
        is: &'static str,
        /// What the handler takes.
        asked: &'static str,
    },
    /// There is no memory.
    Memory {
        /// The number of the error, as in `errno`.
        errno: i32,
    },
}

impl core::fmt::Display for HandleError {
    fn fmt(&self, out: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Unsupported => out.write_str(UNSUPPORTED),
            Self::Busy => out.write_str("another thread is arming or disarming probes"),
            Self::Count { probe, arguments, asked } => {
                write!(out, "the probe {probe} has {arguments} arguments, and the handler takes {asked}")
            }
            Self::Type { probe, argument, is, asked } => {
                write!(out, "the argument `{argument}` of the probe {probe} is {is}, and the handler takes {asked}")
            }
            Self::Memory { errno } => write!(out, "there is no memory for the handler (error {errno})"),
        }
    }
}

impl core::error::Error for HandleError {}
