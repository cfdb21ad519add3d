//! gcc's location views, as `readelf` prints them: the points at one address between which a
//! statement without an instruction moves a variable (`DW_AT_GNU_locviews`, and the rows of the line
//! table).
//!
//! gdb and `llvm-dwarfdump` ignore views: they read the entry that begins last at an address.

use std::collections::HashMap;
use std::path::Path;
use std::process::Command;

use crate::tools;

/// An address, and the number of the view there.
pub type Point = (u64, u64);

/// The views of an image.
#[derive(Debug, Default)]
pub struct Views {
    /// By offset of the list, the start and the end of each entry.
    lists: HashMap<u64, Vec<(Point, Point)>>,
    /// File name, line, and where the row is, in the order of the table.
    rows: Vec<(String, u32, Point)>,
}

impl Views {
    /// Reads the views of an image.
    ///
    /// # Panics
    ///
    /// `readelf` fails.
    #[must_use]
    pub fn of(image: &Path) -> Self {
        let readelf = |section: &str| {
            let mut readelf = Command::new("readelf");
            tools::run(readelf.args(["--wide", &format!("--debug-dump={section}")]).arg(image))
        };
        Self { lists: lists(&readelf("loc")), rows: rows(&readelf("decodedline")) }
    }

    /// The start and the end of each entry of the list at an offset; `None` if it has no views.
    #[must_use]
    pub fn list(&self, offset: u64) -> Option<&[(Point, Point)]> {
        self.lists.get(&offset).map(Vec::as_slice)
    }

    /// The last view of a line at an address; `None` if there is none, or another line is between.
    #[must_use]
    pub fn of_line(&self, file: &str, line: u32, pc: u64) -> Option<u64> {
        let name = file.rsplit('/').next().unwrap_or(file);
        let here: Vec<_> = self.rows.iter().filter(|(.., point)| point.0 == pc).collect();
        let is_it = |row: &&(String, u32, Point)| row.0.rsplit('/').next() == Some(name) && row.1 == line;
        let first = here.iter().position(is_it)?;
        let last = here.iter().rposition(is_it)?;
        let rows = &here[first..=last];
        let ascend = rows.windows(2).all(|two| two[0].2.1 < two[1].2.1);
        (ascend && rows.iter().all(is_it)).then_some(here[last].2.1)
    }
}

/// Lists with views begin with their pairs; each entry follows the line that names its pair:
///
/// ```text
///     0000004c v000000000000000 v000000000000000 location view pair
///
///     00000056 0000000000001170 (base address)
///     0000005f v00000000000000b v000000000000000 views at 0000004c for:
///              0000000000001170 000000000000117b (DW_OP_reg5 (rdi))
///     00000089 <End of list>
/// ```
fn lists(text: &str) -> HashMap<u64, Vec<(Point, Point)>> {
    let number = |text: &str| u64::from_str_radix(text, 16).ok();
    let view = |text: &str| number(text.strip_prefix('v')?);
    let (mut lists, mut list): (HashMap<_, Vec<_>>, Option<u64>) = (HashMap::new(), None);
    let mut pair = None;
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.as_slice() {
            [_, _, _, "location", "view", "pair"] => {}
            [_, "<End", "of", "list>"] => list = None,
            [offset, first, last, "views", "at", _, "for:"] => {
                pair = view(first).zip(view(last));
                list = list.or_else(|| number(offset));
            }
            [first, last, ..] if pair.is_some() && number(first).is_some() && number(last).is_some() => {
                let (Some((from, to)), Some(list)) = (pair.take(), list) else { continue };
                let (Some(start), Some(end)) = (number(first), number(last)) else { continue };
                lists.entry(list).or_default().push(((start, from), (end, to)));
            }
            [offset, ..] => list = list.or_else(|| number(offset)),
            [] => {}
        }
    }
    lists
}

/// `queue.c    6    0x1188    9    x`: the view and the mark of a statement may be missing.
fn rows(text: &str) -> Vec<(String, u32, Point)> {
    let row = |line: &str| {
        let mut words = line.split_whitespace();
        let (name, line, address) = (words.next()?, words.next()?.parse().ok()?, words.next()?);
        let address = u64::from_str_radix(address.strip_prefix("0x")?, 16).ok()?;
        let view = words.next().and_then(|word| word.parse().ok()).unwrap_or(0);
        Some((name.to_owned(), line, (address, view)))
    };
    text.lines().filter_map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_and_rows_are_read() {
        let text = "\
Contents of the .debug_loclists section:

    Offset   Begin            End              Expression

    0000004c v000000000000000 v000000000000000 location view pair
    0000004e v00000000000000b v000000000000000 location view pair

    00000050 0000000000001170 (base address)
    0000005f v000000000000000 v000000000000000 views at 0000004c for:
             0000000000001170 000000000000117b (DW_OP_reg5 (rdi))
    00000064 v00000000000000b v000000000000000 views at 0000004e for:
             0000000000001188 0000000000001194 (DW_OP_reg2 (rcx))
    00000069 <End of list>

    0000006a 0000000000001170 (base address)
    00000073 0000000000001170 0000000000001180 (DW_OP_reg5 (rdi))
    00000078 <End of list>
";
        let lists = lists(text);
        assert_eq!(lists.len(), 1);
        assert_eq!(lists[&0x50], [((0x1170, 0), (0x117b, 0)), ((0x1188, 11), (0x1194, 0))]);
        let text = "\
File name                            Line number    Starting address    View    Stmt
a.c                                            6              0x1188               x
a.c                                            6              0x1188       9       x
a.c                                            7              0x1188      10
a.c                                            -              0x119f
";
        let views = Views { rows: rows(text), lists };
        assert_eq!(views.of_line("src/a.c", 6, 0x1188), Some(9));
        assert_eq!(views.of_line("src/a.c", 7, 0x1188), Some(10));
        assert_eq!(views.of_line("src/b.c", 7, 0x1188), None);
    }
}
