//! How a recording ended.

/// How a recording ended.
#[derive(Clone, Debug, Default)]
pub(crate) struct DataSetEnd {
    /// How many hits were lost.
    pub(crate) lost: u64,
    /// Whether the recording was ended and is not cut off.
    pub(crate) is_complete: bool,
    /// The exit status of the program.
    pub(crate) exit: Option<i64>,
    /// Why it ended early.
    pub(crate) stopped: Option<String>,
}
