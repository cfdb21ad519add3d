//! Old spellings of options. They hold for one more version, and each use says the new one.

use std::ffi::OsString;

/// An old spelling and the one that replaces it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Hint {
    old: String,
    new: String,
}

impl Hint {
    pub(crate) fn text(&self) -> String {
        let Self { old, new } = self;
        format!("{old} is now written {new}")
    }
}

/// The arguments in new spellings, and what was old. What stands behind `--` is another program's.
pub(crate) fn replaced(arguments: impl IntoIterator<Item = OsString>) -> (Vec<OsString>, Vec<Hint>) {
    let mut arguments = arguments.into_iter().peekable();
    let (mut new, mut hints): (Vec<OsString>, Vec<Hint>) = (Vec::new(), Vec::new());
    // The program's name, then its command.
    new.extend(arguments.next());
    let mut known: Option<String> = None;
    while let Some(argument) = arguments.next() {
        let Some(text) = argument.to_str() else {
            new.push(argument);
            continue;
        };
        if text == "--" {
            new.push(argument);
            break;
        }
        let Some(command) = &known else {
            let is_option = text.starts_with('-');
            // The one option before the command that has a value.
            let value = if text == "--color" { arguments.next() } else { None };
            known = (!is_option).then(|| text.to_owned());
            new.push(argument);
            new.extend(value);
            continue;
        };
        if let ("--all", true) = (text, TAKE_INCLUDE.contains(&command.as_str())) {
            hints.push(Hint { old: text.to_owned(), new: "--include all".to_owned() });
            new.extend(["--include", "all"].map(OsString::from));
            continue;
        }
        let (name, joined) = text.split_once('=').map_or((text, None), |(name, value)| (name, Some(value.to_owned())));
        if !NAMES.contains(&name) {
            new.push(argument);
            continue;
        }
        let name = name.to_owned();
        let (value, separate) = match joined {
            Some(value) => (Some(value), None),
            None => {
                let next = arguments.next_if(|next| next != "--");
                (next.as_ref().and_then(|next| Some(next.to_str()?.to_owned())), next)
            }
        };
        match value.and_then(|value| Some((modern(command, &name, &value)?, value))) {
            Some(((new_name, new_value), value)) => {
                hints.push(Hint { old: format!("{name} {value}"), new: format!("{new_name} {new_value}") });
                new.extend([OsString::from(new_name), OsString::from(new_value)]);
            }
            None => {
                new.push(argument);
                new.extend(separate);
            }
        }
    }
    new.extend(arguments);
    (new, hints)
}

/// The options with a value that may be old.
const NAMES: [&str; 6] = ["--every", "--every-ms", "--buffer", "--count", "--limit", "-n"];

/// The commands that had `--all`.
const TAKE_INCLUDE: [&str; 5] = ["export", "trace", "count", "record", "plan"];

/// The new name and value of an option; `None` if it has no older spelling.
fn modern(command: &str, name: &str, value: &str) -> Option<(&'static str, String)> {
    let is_whole = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit());
    match (command, name) {
        ("trace", "--every-ms") if is_whole => Some(("--every", format!("{value}ms"))),
        ("count" | "top", "--every") if is_whole => Some(("--every", format!("{value}s"))),
        ("count" | "top", "--every") => {
            let seconds: f64 = value.parse().ok().filter(|seconds: &f64| (0.01..1e9).contains(seconds))?;
            Some(("--every", format!("{}ms", (seconds * 1000.0).round() as u64)))
        }
        ("trace" | "count" | "record", "--buffer") if is_whole => Some(("--buffer", format!("{value}K"))),
        ("top", "--count" | "--limit") => Some(("--intervals", value.to_owned())),
        ("trace" | "count" | "record", "-n") if !is_whole => Some(("--name", value.to_owned())),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: &str) -> (String, Vec<String>) {
        let (new, hints) = replaced(line.split(' ').map(OsString::from));
        let new: Vec<&str> = new.iter().map(|argument| argument.to_str().expect("UTF-8")).collect();
        (new.join(" "), hints.iter().map(Hint::text).collect())
    }

    #[test]
    fn old_spellings_become_new_ones() {
        for (old, new, hint) in [
            (
                "smark trace --every-ms 100 x",
                "smark trace --every 100ms x",
                "--every-ms 100 is now written --every 100ms",
            ),
            ("smark -q count --every=2 x", "smark -q count --every 2s x", "--every 2 is now written --every 2s"),
            ("smark top --every 0.25", "smark top --every 250ms", "--every 0.25 is now written --every 250ms"),
            ("smark record --buffer 64 x", "smark record --buffer 64K x", "--buffer 64 is now written --buffer 64K"),
            (
                "smark --color never record --buffer=64 x",
                "smark --color never record --buffer 64K x",
                "--buffer 64 is now written --buffer 64K",
            ),
            ("smark top --count 3", "smark top --intervals 3", "--count 3 is now written --intervals 3"),
            ("smark top --limit=3", "smark top --intervals 3", "--limit 3 is now written --intervals 3"),
            ("smark count -n q:* x", "smark count --name q:* x", "-n q:* is now written --name q:*"),
            ("smark export --all x", "smark export --include all x", "--all is now written --include all"),
        ] {
            assert_eq!(of(old), (new.to_owned(), vec![hint.to_owned()]));
        }
    }

    #[test]
    fn the_rest_is_kept() {
        for line in [
            "smark trace --every 100ms --buffer 8M x",
            "smark report --count folder",
            "smark trace -n 3 --limit 4 x",
            "smark list -n q:* --all x",
            "smark trace x -- server --every-ms 5 --buffer 3",
            "smark top --every",
            "smark trace --every-ms many",
            "smark list trace --buffer 3",
            "smark report top --count x",
            "smark --color always report trace --every-ms 3",
            "smark trace --buffer -- server --buffer 3",
            "smark count --every 0.001",
            "smark",
        ] {
            assert_eq!(of(line), (line.to_owned(), Vec::new()));
        }
    }
}
