//! Texts of programs that system calls get: the kernel's record of a call has their addresses.

use simple_markers_events::{Field, Format};

/// The most bytes of a text with its NUL.
pub(crate) const USER_TEXT: u16 = 256;

/// What the kernel writes in place of a text that it cannot read.
pub(crate) const FAULT: &[u8] = b"(fault)";

/// The system calls whose texts are no constants by their types.
const OTHERS: [&str; 2] = ["sys_enter_mount", "sys_enter_umount"];

/// A field for a text, which the kernel's record does not have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct UserText {
    /// The name of the field.
    pub(super) field: String,
    /// Where the kernel's record has the address of the text.
    pub(super) address: u16,
}

/// Adds a field for the text at each address to the format of the entry of a system call, as kernels since
/// Linux 6.19 have it: `__filename_val` for `filename`. What such a kernel hands to a program at the event has
/// the addresses only, so its own fields for texts and bytes are left out.
pub(super) fn add_texts(format: &mut Format) -> Vec<UserText> {
    if !is_entry(format) {
        return Vec::new();
    }
    format.fields.retain(|field| !field.is_dynamic());
    let address = |field: &Field| Some((field.name.clone(), u16::try_from(field.offset).ok()?));
    let addresses: Vec<(String, u16)> = texts(format).filter_map(address).collect();
    let mut added = Vec::new();
    let end = format.fields.iter().map(|field| field.offset.saturating_add(field.size)).max().unwrap_or(0);
    let offsets = (end.next_multiple_of(4)..).step_by(4);
    for ((name, address), offset) in addresses.into_iter().zip(offsets) {
        let (field, of) = (text_name(&name), "__data_loc char[]".to_owned());
        // The kernel writes an address as `filename: 0x%08lx`.
        let (conversion, argument) = (format!("{name}: 0x%08lx"), format!("((unsigned long)(REC->{name}))"));
        let value = format!("__get_str({field})");
        if format.print.contains(&conversion) && format.print.contains(&argument) && !format.print.contains(&value) {
            format.print = format.print.replacen(&conversion, &format!(r#"{conversion} \"%s\""#), 1);
            format.print = format.print.replacen(&argument, &format!("{argument}, {value}"), 1);
        }
        added.push(UserText { field: field.clone(), address });
        format.fields.push(Field { name: field, of, offset, size: 4, is_signed: false, is_array: false, element: 4 });
    }
    added
}

/// The name of the field that has the text at an address.
#[must_use]
pub(crate) fn text_name(address: &str) -> String {
    format!("__{address}_val")
}

/// Whether it is the event of the entry of a system call.
fn is_entry(format: &Format) -> bool {
    format.group == "syscalls" && format.name.starts_with("sys_enter_")
}

/// The fields with the addresses of texts. What a length follows is no text: it may have any bytes.
fn texts(format: &Format) -> impl Iterator<Item = &Field> {
    let is_other = OTHERS.contains(&&*format.name);
    let next = format.fields.iter().skip(1).map(|field| &*field.of).chain(["void"]);
    let is_text = move |of: &str, next: &str| {
        let of: Vec<&str> = of.split([' ', '*']).filter(|word| !word.is_empty()).collect();
        let is_char = of == ["const", "char"] || is_other && of == ["char"];
        is_char && next != "size_t"
    };
    let fields =
        format.fields.iter().zip(next).filter(move |(field, next)| {
            field.size == 8 && field.of.matches('*').count() == 1 && is_text(&field.of, next)
        });
    fields.map(|(field, _)| field)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn format(name: &str, fields: &[&str], print: &str) -> Format {
        let fields = fields
            .iter()
            .enumerate()
            .map(|(number, field)| format!("\tfield:{field};\toffset:{};\tsize:8;\tsigned:0;\n", 16 + number * 8));
        let text = format!("name: {name}\nID: 7\nformat:\n{}\nprint fmt: {print}\n", fields.collect::<String>());
        Format::of("syscalls", &text).expect("a format")
    }

    fn names(format: &Format) -> Vec<&str> {
        texts(format).map(|field| &*field.name).collect()
    }

    #[test]
    fn a_text_has_a_field_of_its_own() {
        let print =
            r#""dfd: 0x%08lx, filename: 0x%08lx", ((unsigned long)(REC->dfd)), ((unsigned long)(REC->filename))"#;
        let kernel = format("sys_enter_openat", &["int dfd", "const char * filename", "int flags"], print);
        let mut ours = kernel.clone();
        let added = UserText { field: "__filename_val".into(), address: 24 };
        assert_eq!(add_texts(&mut ours), std::slice::from_ref(&added));
        assert_eq!(
            ours.print,
            r#""dfd: 0x%08lx, filename: 0x%08lx \"%s\"", ((unsigned long)(REC->dfd)), ((unsigned long)(REC->filename)), __get_str(__filename_val)"#
        );
        let text = ours.field("__filename_val").expect("a field");
        assert_eq!((text.offset, text.size, text.is_dynamic()), (40, 4, true));
        // A kernel that has the texts, and the bytes at another address.
        let mut newer = ours.clone();
        newer.fields.push(Field { name: "__buf_val".into(), offset: 44, ..text.clone() });
        assert_eq!(add_texts(&mut newer), [added]);
        assert_eq!(newer, ours);
        // An event that is no entry of a system call.
        let mut other = Format { group: "other".into(), ..ours.clone() };
        assert_eq!(add_texts(&mut other), []);
        assert_eq!(other.fields, ours.fields);
    }

    #[test]
    fn bytes_with_a_length_are_no_text() {
        assert_eq!(names(&format("sys_enter_write", &["int fd", "const char * buf", "size_t count"], "")), [""; 0]);
        assert_eq!(
            names(&format("sys_enter_execve", &["const char * filename", "const char *const * argv"], "")),
            ["filename"]
        );
        assert_eq!(
            names(&format("sys_enter_mount", &["char * dev_name", "char * dir_name"], "")),
            ["dev_name", "dir_name"]
        );
        assert_eq!(names(&format("sys_enter_getcwd", &["char * buf", "unsigned long size"], "")), [""; 0]);
        assert_eq!(
            names(&format("sys_enter_rename", &["const char * oldname", "const char * newname"], "")),
            ["oldname", "newname"]
        );
    }
}
