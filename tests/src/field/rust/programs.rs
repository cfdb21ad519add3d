//! Which programs there are, and what they do in a run.

use std::fmt::Write as _;
use std::path::Path;
use std::{fs, io};

use crate::tools::Choices;

/// A program whose packages are in the registry.
pub struct Packages {
    /// Its name, and that of the package with it.
    pub(super) name: &'static str,
    /// The name of the image, and of the crate that it is built from.
    pub(super) image: &'static str,
    /// The folder of its sources in the package; that of a library is `src`.
    pub(super) sources: &'static str,
    /// Its own version.
    pub(super) version: &'static str,
    /// The other packages with markers, and their versions.
    pub(super) libraries: &'static [(&'static str, &'static str)],
    /// The features that it needs, with commas.
    pub(super) features: &'static str,
    /// The arguments of a run, before the path of the input.
    pub(super) arguments: &'static [&'static str],
    /// The file in `tests/field/` that is an argument too; there is none if it is empty.
    pub(super) script: &'static str,
    /// Writes the input, a file or a folder.
    pub(super) input: fn(&Path) -> io::Result<()>,
}

/// All of them.
pub static PROGRAMS: [Packages; 5] = [
    Packages {
        name: "jaq",
        image: "jaq",
        sources: "src",
        version: "2.3.0",
        libraries: &[("jaq-core", "2.2.1"), ("jaq-json", "1.1.3"), ("jaq-std", "2.1.2"), ("hifijson", "0.2.3")],
        features: "",
        arguments: &["--compact-output", "--from-file"],
        script: "filter.jq",
        input: |path| fs::write(path, records()),
    },
    Packages {
        name: "pulldown-cmark",
        image: "pulldown-cmark",
        sources: "src",
        version: "0.13.6",
        libraries: &[("pulldown-cmark-escape", "0.11.0")],
        features: "getopts,html",
        arguments: &["-T", "-m", "-F", "-S", "-U", "-B", "-L", "-P", "-H", "-M", "-G", "-D", "-W"],
        script: "",
        input: |path| fs::write(path, markdown()),
    },
    Packages {
        name: "hexyl",
        image: "hexyl",
        sources: "src",
        version: "0.16.0",
        libraries: &[],
        features: "",
        arguments: &["--color=always"],
        script: "",
        input: |path| fs::write(path, records()),
    },
    Packages {
        name: "xsv",
        image: "xsv",
        sources: "src",
        version: "0.13.0",
        libraries: &[("csv", "1.4.0"), ("csv-core", "0.1.13")],
        features: "",
        arguments: &["stats", "--everything"],
        script: "",
        input: |path| fs::write(path, table()),
    },
    Packages {
        name: "ripgrep",
        image: "rg",
        sources: "crates",
        version: "15.2.0",
        libraries: &[
            ("grep-cli", "0.1.12"),
            ("grep-matcher", "0.1.9"),
            ("grep-printer", "0.3.1"),
            ("grep-regex", "0.1.14"),
            ("grep-searcher", "0.1.17"),
            ("globset", "0.4.22"),
            ("ignore", "0.4.35"),
        ],
        features: "",
        // One thread, and no setting of the machine.
        arguments: &[
            "--no-config",
            "--no-ignore-global",
            "--no-ignore-parent",
            "--no-require-git",
            "--threads=1",
            "--sort=path",
            "--hidden",
            "--glob=!**/skipped*/**",
            "--type-add=written:*.{json,md,csv,txt}",
            "--type=written",
            "--smart-case",
            "--line-number",
            "--column",
            "--context=2",
            "--heading",
            "--color=always",
            "--trim",
            "--max-columns=120",
            "--max-columns-preview",
            "--replace=<$1>",
            r"--regexp=\b(m\w+|räder) (?:of|slot)\b",
            r"--regexp=tab\\t(bed)",
            "--regexp=(\"id\": 1[0-9]*7)",
        ],
        script: "",
        input: tree,
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

/// A folder with files of each kind, and rules of what is ignored: what ripgrep searches.
fn tree(path: &Path) -> io::Result<()> {
    if path.exists() {
        fs::remove_dir_all(path)?;
    }
    let wide: Vec<u8> =
        "\u{feff}".chars().chain(table().chars().take(9000)).flat_map(|of| (of as u16).to_le_bytes()).collect();
    let part = |text: String, lines: usize| text.lines().take(lines).collect::<Vec<_>>().join("\n").into_bytes();
    let files: [(&str, Vec<u8>); 13] = [
        (".gitignore", b"# what is built\n/built/\n*.tmp\n!kept.txt\n[a-c]*.csv\n".to_vec()),
        (".ignore", b"**/deep/ignored-?.{txt,md}\nlogs/**\n".to_vec()),
        (".hidden/notes.txt", b"marker of a site\r\nno\r\nrooms slot\r\n".to_vec()),
        ("a.csv", part(table(), 9)),
        ("built/out.txt", b"marker of\n".to_vec()),
        ("deep/er/.gitignore", b"/x*\n!/x1.md\n".to_vec()),
        ("deep/er/x1.md", part(markdown(), 60)),
        ("deep/er/x2.md", part(markdown(), 9)),
        ("deep/ignored-1.txt", b"marker of\n".to_vec()),
        ("records.json", part(records(), 150)),
        ("skipped1/one.txt", b"marker of\n".to_vec()),
        ("table.txt", wide),
        ("zeros.txt", [&b"marker of the code\n\0\0\0\n"[..], &part(table(), 99)].concat()),
    ];
    for (name, bytes) in files {
        let file = path.join(name);
        fs::create_dir_all(file.parent().unwrap_or(path))?;
        fs::write(file, bytes)?;
    }
    Ok(())
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
