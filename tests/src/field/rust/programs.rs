//! Which programs there are, and what they do in a run.

use std::fmt::Write as _;

use crate::tools::Choices;

/// A program whose packages are in the registry.
pub struct Packages {
    /// Its name, and that of the package with it and of the image.
    pub(super) name: &'static str,
    /// Its own version.
    pub(super) version: &'static str,
    /// The other packages with markers, and their versions.
    pub(super) libraries: &'static [(&'static str, &'static str)],
    /// The features that it needs, with commas.
    pub(super) features: &'static str,
    /// The arguments of a run, before the file with the input.
    pub(super) arguments: &'static [&'static str],
    /// The file in `tests/field/` that is an argument too; there is none if it is empty.
    pub(super) script: &'static str,
    /// The text of the input.
    pub(super) input: fn() -> String,
}

/// All of them.
pub static PROGRAMS: [Packages; 4] = [
    Packages {
        name: "jaq",
        version: "2.3.0",
        libraries: &[("jaq-core", "2.2.1"), ("jaq-json", "1.1.3"), ("jaq-std", "2.1.2"), ("hifijson", "0.2.3")],
        features: "",
        arguments: &["--compact-output", "--from-file"],
        script: "filter.jq",
        input: records,
    },
    Packages {
        name: "pulldown-cmark",
        version: "0.13.6",
        libraries: &[("pulldown-cmark-escape", "0.11.0")],
        features: "getopts,html",
        arguments: &["-T", "-m", "-F", "-S", "-U", "-B", "-L", "-P", "-H", "-M", "-G", "-D", "-W"],
        script: "",
        input: markdown,
    },
    Packages {
        name: "hexyl",
        version: "0.16.0",
        libraries: &[],
        features: "",
        arguments: &["--color=always"],
        script: "",
        input: records,
    },
    Packages {
        name: "xsv",
        version: "0.13.0",
        libraries: &[("csv", "1.4.0"), ("csv-core", "0.1.13")],
        features: "",
        arguments: &["stats", "--everything"],
        script: "",
        input: table,
    },
];

const WORDS: [&str; 16] = [
    "marker",
    "site",
    "Müller",
    "place",
    "of",
    "a",
    "value",
    "tab\\tbed",
    "the",
    "code",
    "räder",
    "x",
    "is",
    "register",
    "slot",
    "and",
];

/// Records of JSON, a line each: what jaq filters.
fn records() -> String {
    let mut choices = Choices::new(1);
    let mut text = String::new();
    for id in 0..400 {
        let words: Vec<&str> = (0..choices.below(9)).map(|_| *choices.one(&WORDS)).collect();
        let numbers: Vec<String> = (0..choices.below(7))
            .map(|_| match choices.below(4) {
                0 => format!("{}.{}", choices.below(1000), choices.below(1000)),
                1 => format!("-{}", choices.below(1 << 20)),
                2 => format!("{}e{}", choices.below(100), choices.below(20)),
                _ => choices.below(100).to_string(),
            })
            .collect();
        let _ = writeln!(
            text,
            "{{\"id\": {id}, \"text\": \"{}\", \"of\": {{\"numbers\": [{}], \"is\": {}, \"none\": null}}, \"key\\u00e9{}\": {}}}",
            words.join(" "),
            numbers.join(", "),
            choices.chance(30),
            choices.below(5),
            choices.below(u32::MAX),
        );
    }
    text
}

/// A table with numbers, texts, quotes and empty fields, a line each: what xsv summarises.
fn table() -> String {
    let mut choices = Choices::new(3);
    let mut text = String::from("id,count,ratio,word,text\n");
    for id in 0..400 {
        let words: Vec<&str> = (0..choices.below(6)).map(|_| *choices.one(&WORDS)).collect();
        let ratio = match choices.below(5) {
            0 => String::new(),
            _ => format!("-{}.{}", choices.below(100), choices.below(1000)),
        };
        let (count, word) = (choices.below(1 << 20), *choices.one(&WORDS));
        let _ = writeln!(text, "{id},{count},{ratio},{word},\"{} \"\"{word}\"\", x\"", words.join(" "));
    }
    text
}

/// A document with most of what Markdown has.
fn markdown() -> String {
    let mut choices = Choices::new(2);
    let mut text = String::new();
    for part in 0..700 {
        let sentence = |choices: &mut Choices| {
            let count = 3 + choices.below(20);
            let words: Vec<String> = (0..count)
                .map(|_| {
                    let word = *choices.one(&WORDS);
                    match choices.below(24) {
                        0 => format!("*{word}*"),
                        1 => format!("**{word}** __{word}__"),
                        2 => format!("`{word}``{word}`"),
                        3 => format!("[{word}](<{word}.html> \"{word}\")"),
                        4 => format!("[{word}][n{}] ![i](i.png)", choices.below(40)),
                        5 => format!("&amp;&#{};&#x{:x};", 33 + choices.below(90), 65 + choices.below(2000)),
                        6 => format!("<{word}://example.org/{word}> <b a=\"{word}\">"),
                        7 => format!("~~{word}~~ ^{word}^ \"{word}\"... -- '{word}'"),
                        8 => format!("$x_{}^2$ [^{}] \\* [[{word}|{word}]]", choices.below(9), choices.below(20)),
                        9 => format!("{word}  \n"),
                        _ => word.to_owned(),
                    }
                })
                .collect();
            words.join(" ")
        };
        let _ = match choices.below(12) {
            0 => writeln!(text, "{} {} {{#id{part} .c a=b}}\n", "#".repeat(1 + part % 6), sentence(&mut choices)),
            1 => writeln!(text, "{}\n===\n", sentence(&mut choices).replace('\n', " ")),
            2 => writeln!(text, "```rust,{part}\nfn f() {{ {part} }}\n```\n\n    indented {part}\n"),
            3 => writeln!(text, "| a | b:c |\n|:--|---:|\n| {part} | {} |\n| `x\\|y` | z |\n", choices.one(&WORDS)),
            4 => {
                let items: Vec<String> = (0..1 + choices.below(6))
                    .map(|item| {
                        format!(
                            "{}* [{}] {}",
                            "  ".repeat(item as usize % 4),
                            if item % 2 == 0 { 'x' } else { ' ' },
                            sentence(&mut choices)
                        )
                    })
                    .collect();
                writeln!(text, "{}\n", items.join("\n"))
            }
            5 => writeln!(text, "{}. {}\n\n   {}\n", 1 + part % 9, sentence(&mut choices), sentence(&mut choices)),
            6 => writeln!(text, "> {}\n> > [!NOTE]\n> > {}\n", choices.one(&WORDS), sentence(&mut choices)),
            7 => writeln!(text, "[n{}]: <http://example.org/{part}> 'title {part}'\n", choices.below(40)),
            8 => writeln!(text, "[^{}]: {}\n", choices.below(20), sentence(&mut choices)),
            9 => writeln!(text, "<div>\n{part}\n</div>\n\n<!-- {part} -->\n\n---\n"),
            10 => writeln!(text, "{}\n: {}\n\n$$\n{part}\n$$\n", choices.one(&WORDS), sentence(&mut choices)),
            _ => writeln!(text, "{}\n{}\n", sentence(&mut choices), sentence(&mut choices)),
        };
    }
    text
}
