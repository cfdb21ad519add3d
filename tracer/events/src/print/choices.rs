//! Which values of a field have names.

/// The names of the values of a field, from `__print_symbolic` or `__print_flags`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choices {
    /// The name of the field.
    pub field: String,
    /// The bits of the field that have names.
    pub mask: u64,
    /// Whether each name stands for some bits (`__print_flags`), and what is printed between them;
    /// `None` if it stands for the whole value.
    pub delimiter: Option<String>,
    /// The values and their names in the order of the text. Of two entries for a value the first one
    /// counts.
    pub pairs: Vec<(u64, String)>,
}
