//! `-p`: the numbers of processes.

/// The numbers of some processes, as one option gives them.
#[derive(Clone, Debug)]
pub(crate) struct Pids(pub(super) Vec<u32>);

/// Parses numbers that are separated by commas or blanks, as `pidof` prints them.
pub(crate) fn parse(text: &str) -> Result<Pids, String> {
    let words = text.split(|c: char| c == ',' || c.is_whitespace()).filter(|word| !word.is_empty());
    let number = |word: &str| match word.parse() {
        Ok(pid @ 1..) => Ok(pid),
        _ => Err(format!("`{word}` is not the number of a process")),
    };
    let pids: Vec<u32> = words.map(number).collect::<Result<_, _>>()?;
    if pids.is_empty() { Err("there is no number of a process in it".to_owned()) } else { Ok(Pids(pids)) }
}

/// The numbers of all options, without duplicates, in their order.
pub(crate) fn all(options: &[Pids]) -> Vec<u32> {
    let mut pids: Vec<u32> = Vec::new();
    for pid in options.iter().flat_map(|option| &option.0) {
        if !pids.contains(pid) {
            pids.push(*pid);
        }
    }
    pids
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_are_separated_by_commas_and_blanks() {
        let options = ["12 13\n", "14,12", " 15, 16 "].map(|text| parse(text).expect("numbers"));
        assert_eq!(all(&options), [12, 13, 14, 15, 16]);
        for text in ["", " ,", "0", "-1", "1 x", "4294967296"] {
            assert!(parse(text).is_err(), "{text:?}");
        }
    }
}
