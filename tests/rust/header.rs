//! `simple_marker.h`: compiles each source of `tests/c` with gcc and clang, at each optimisation
//! level, as C11 and as C++17, and compares the result with the comments. `tests/c/basic.c`
//! describes the comments.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use regex::Regex;
use simple_markers_tests::computer::Computer;
use simple_markers_tests::fixture::{self, Site};
use simple_markers_tests::header::{self, Compiler, Expectation, LEVELS, Language, Source, Symbol};
use simple_markers_tests::tools;
use tempfile::TempDir;

/// One compilation of one source.
struct Build<'a> {
    source: &'a Source,
    compiler: Compiler,
    language: Language,
    level: &'static str,
    folder: &'a Path,
}

impl Build<'_> {
    /// The name in a failure message.
    fn name(&self) -> String {
        let Self { source, compiler, language, level, .. } = self;
        format!("{}: {} {level} {language}", source.path.display(), compiler.name())
    }

    fn linked(&self) -> bool {
        !self.source.only("x86_64 -c") && self.source.directive("same-code").is_none()
    }

    /// The program or the object, with `more` options; the error is the compiler's output,
    /// including warnings.
    fn compile(&self, more: &[&str]) -> Result<PathBuf, String> {
        let image = self.folder.join(format!("image{}", more.concat().replace('/', "_")));
        let mut command = self.compiler.command(self.language);
        command.args(["-Wall", "-Wextra", "-Wpedantic", "-Werror", self.level, "-g", "-o"]).arg(&image);
        if self.compiler == Compiler::Gcc {
            command.arg("-Wformat-signedness");
        }
        if !self.linked() {
            command.arg("-c");
        }
        match self.language {
            Language::C => command.arg("-std=c11"),
            Language::Cxx => command.args(["-std=c++17", "-x", "c++"]),
        };
        command.arg(&self.source.path);
        let sources = self.source.directives("sources").flat_map(str::split_whitespace);
        command.args(sources.map(|name| self.source.path.with_file_name(name)));
        if self.compiler == Compiler::Clang && self.source.options().any(|option| option == "-flto") {
            command.arg("-fuse-ld=lld");
        }
        command.args(self.source.options()).args(more);
        match header::attempt(&mut command) {
            (true, said) if said.is_empty() => Ok(image),
            (_, said) => Err(format!("{command:?}\n{said}")),
        }
    }

    /// All differences from the source's expectations.
    fn complaints(&self) -> Vec<String> {
        let image = match self.compile(&[]) {
            Ok(image) => image,
            Err(said) => return vec![format!("{}: does not compile: {said}", self.name())],
        };
        let mut complaints = self.records(&image);
        if self.source.directive("runs").is_some() {
            let status = Command::new(&image).status().expect("the program starts");
            if !status.success() {
                complaints.push(format!("runs: {status}"));
            }
        }
        if let Some(other) = self.source.directive("same-code") {
            match self.compile(&[other]) {
                Ok(other) => complaints.extend(self.same_code(&image, &other)),
                Err(said) => complaints.push(format!("same-code: {said}")),
            }
        }
        complaints.into_iter().map(|complaint| format!("{}: {complaint}", self.name())).collect()
    }

    fn records(&self, image: &Path) -> Vec<String> {
        let declarations = fixture::declaration_bytes(image);
        let sites = fixture::site_bytes(image);
        let mut complaints = Vec::new();
        let expectations = self.source.expectations();
        for expected in &expectations {
            let wrong = self.expected(expected, &declarations, &sites);
            complaints.extend(wrong.into_iter().map(|wrong| format!("expect: name={}: {wrong}", expected.name)));
        }
        for name in self.source.directives("absent") {
            let off = self.source.options().any(|option| option == "-DSIMPLE_MARKER_OFF");
            let declared = declarations.iter().any(|record| record[0] == name.as_bytes());
            let placed = sites.iter().any(|site| site.name == name.as_bytes());
            if (declared || placed) && (off || self.level != "-O0") {
                complaints.push(format!("absent: {name}: declared {declared}, with a site {placed}"));
            }
        }
        let known: BTreeSet<_> = expectations.iter().map(|expected| expected.name.as_bytes()).collect();
        let found: BTreeSet<_> =
            sites.iter().map(|site| &site.name).chain(declarations.iter().map(|[name, ..]| name)).collect();
        if !known.is_empty() {
            let unknown = found.iter().filter(|name| !known.contains(name.as_slice()));
            complaints.extend(unknown.map(|name| format!("{}: not expected", name.escape_ascii())));
        }
        complaints.extend(sections(image, !found.is_empty()));
        complaints.extend(self.addresses(image, &sites));
        complaints
    }

    fn expected(&self, expected: &Expectation, declarations: &[[Vec<u8>; 5]], sites: &[Site<Vec<u8>>]) -> Vec<String> {
        let mut complaints = Vec::new();
        let sites: Vec<_> = sites.iter().filter(|site| site.name == expected.name.as_bytes()).collect();
        let (least, most) = expected.sites;
        if !(least..=most).contains(&sites.len()) {
            complaints.push(format!("sites={} and not {least} to {most}", sites.len()));
        }
        let places = self.places(expected);
        for site in &sites {
            let mut same = |what: &str, found: &[u8], wanted: &[u8]| {
                if found != wanted {
                    complaints.push(format!(
                        "{what}=\"{}\" and not \"{}\"",
                        found.escape_ascii(),
                        wanted.escape_ascii()
                    ));
                }
            };
            same("format", &site.format, &expected.format);
            same("args", &site.args, &expected.args);
            same("column", &[site.column as u8], &[0]);
            if let Some(flags) = expected.flags {
                same("flags", &[site.flags], &[flags]);
            }
            if site.flags & 2 == 0 {
                same("operands", &site.operands, b"");
            }
            let text = String::from_utf8_lossy(&site.operands);
            if let Some(operands) = expected.operands.as_ref().filter(|operands| !operands.is_match(&text)) {
                complaints.push(format!("operands={text} and not {operands}"));
            }
            if !places.contains(&(site.file.clone(), site.line)) {
                let readable: Vec<_> =
                    places.iter().map(|(file, line)| format!("{}:{line}", file.escape_ascii())).collect();
                complaints.push(format!("at {}:{} and not {readable:?}", site.file.escape_ascii(), site.line));
            }
        }
        // Each marker has one declaration, however many copies there are. This includes a header's
        // marker in files that a link-time optimiser merges.
        let wanted: BTreeSet<_> = sites
            .iter()
            .map(|site| {
                [&site.name, &site.file, &site.line.to_string().into_bytes(), &site.format, &site.args].map(Vec::clone)
            })
            .collect();
        let declared = declarations.iter().filter(|record| record[0] == expected.name.as_bytes()).cloned();
        if !declared.eq(wanted) {
            complaints.push("not one declaration for each marker that has sites".to_owned());
        }
        complaints
    }

    /// The files and lines that the marker's record may have.
    fn places(&self, expected: &Expectation) -> Vec<(Vec<u8>, u32)> {
        if let (Some(file), Some(line)) = (&expected.file, expected.line) {
            return vec![(file.clone(), line)];
        }
        let other_files = self.source.other_files();
        let files = std::iter::once(self.source).chain(&other_files);
        let places = files.flat_map(|file| {
            let path = file.path.to_str().expect("UTF-8").as_bytes();
            let markers = file.markers().into_iter().filter(|marker| marker.name == expected.name);
            markers.flat_map(|marker| marker.lines).map(move |line| (path.to_vec(), line))
        });
        places.filter(|(_, line)| expected.line.is_none_or(|expected| expected == *line)).collect()
    }

    /// Checks that a site is at an instruction of a function or at its end, unless its function was
    /// removed.
    fn addresses(&self, image: &Path, sites: &[Site<Vec<u8>>]) -> Vec<String> {
        let dead: BTreeSet<_> = self.source.directives("dead").map(str::as_bytes).collect();
        let symbols = header::symbols(image);
        let instructions = header::instructions("objdump", image);
        let wrong = sites.iter().filter_map(|site| {
            let (name, pc) = (site.name.escape_ascii(), site.pc);
            if dead.contains(&site.name[..]) {
                return (pc != 0).then(|| format!("dead: {name}: at {pc:#x}"));
            }
            if pc == 0 && self.linked() {
                return Some(format!("{name}: its function is gone"));
            }
            let mut functions = symbols.iter().filter(|symbol| symbol.kind == "FUNC" && symbol.size > 0);
            let inside = functions.any(|symbol| {
                pc == symbol.start + symbol.size
                    || (symbol.start..symbol.start + symbol.size).contains(&pc) && instructions.contains_key(&pc)
            });
            if !inside {
                return Some(format!("{name}: {pc:#x} is not an instruction of a function"));
            }
            let anchor = instructions.get(&pc).is_some_and(|text| text == "nop");
            (site.flags & 1 != 0 && !anchor).then(|| format!("{name}: no nop at {pc:#x}"))
        });
        wrong.collect()
    }

    /// Checks that the functions of two objects are the same at -O0, and have the same number of
    /// instructions at other levels.
    fn same_code(&self, with: &Path, without: &Path) -> Vec<String> {
        let code = |object| {
            let instructions = header::instructions("objdump", object);
            let functions = header::symbols(object).into_iter().filter(|symbol| symbol.kind == "FUNC");
            let functions = functions.map(move |Symbol { start, size, name, .. }| {
                let texts: Vec<_> = instructions.range(start..start + size).map(|(_, text)| text.clone()).collect();
                (name, texts)
            });
            functions.collect::<BTreeMap<_, _>>()
        };
        let (with, without) = (code(with), code(without));
        if with.len() != without.len() || with.is_empty() {
            return vec![format!("same-code: {} functions and {}", with.len(), without.len())];
        }
        let different = with.iter().filter(|(name, with)| {
            let without = &without[*name];
            if self.level == "-O0" { with != &without } else { with.len() != without.len() }
        });
        different
            .map(|(name, with)| {
                format!("same-code: {name}: {} instructions, without {}", with.len(), without[name].len())
            })
            .collect()
    }
}

/// Checks that an image with markers has the sections, with the types and flags of the format.
fn sections(image: &Path, marked: bool) -> Vec<String> {
    let headers = fixture::section_headers(image);
    let mut complaints = Vec::new();
    for (name, expected) in [
        ("__simple_marker.1", "PROGBITS 00 1"),
        (".debug.simple_marker.2", "PROGBITS 00 1"),
        (".debug.simple_marker.str", "PROGBITS 01 MS 1"),
    ] {
        let rows: Vec<_> = headers.lines().filter_map(|line| line.split_once(&format!(" {name} "))).collect();
        let found = match rows[..] {
            [] => None,
            [(_, row)] => {
                // Type, address, offset, size, entry size, optional flags, link, info, alignment.
                let words: Vec<_> = row.split_whitespace().collect();
                let (start, end) = (&words[4..words.len() - 3], &words[words.len() - 1..]);
                Some([&words[..1], start, end].concat().join(" "))
            }
            _ => Some(format!("{} times", rows.len())),
        };
        if found.as_deref() != marked.then_some(expected) {
            complaints.push(format!("section {name}: {found:?}"));
        }
    }
    complaints
}

/// Runs every source for a compiler and language; `expected` is the number of configurations.
fn compile_all(compiler: Compiler, language: Language, expected: usize) {
    if tools::find(compiler.name()).is_none() {
        return;
    }
    let folder = TempDir::new().expect("a folder");
    let sources = Source::all("tests/c");
    let sources = sources.iter().filter(|source| source.is_for(compiler, language));
    let mut configurations = 0;
    let mut complaints = Vec::new();
    for (index, source) in sources.enumerate() {
        configurations += LEVELS.len();
        let is_flto = source.options().any(|option| option == "-flto");
        if is_flto && compiler == Compiler::Clang && tools::find("ld.lld").is_none() {
            continue;
        }
        let what = format!("{} by {}", source.path.display(), compiler.name());
        for level in tools::slice(&what, &LEVELS, &[index % LEVELS.len()]) {
            let build = Build { source, compiler, language, level, folder: folder.path() };
            complaints.extend(build.complaints());
        }
    }
    assert!(complaints.is_empty(), "{} complaints\n{}", complaints.len(), complaints.join("\n"));
    assert_eq!(configurations, expected, "the configurations in CI; a new source makes it more");
}

#[test]
fn c_with_gcc() {
    compile_all(Compiler::Gcc, Language::C, 52);
}

#[test]
fn cxx_with_gcc() {
    compile_all(Compiler::Gcc, Language::Cxx, 48);
}

#[test]
fn c_with_clang() {
    compile_all(Compiler::Clang, Language::C, 48);
}

#[test]
fn cxx_with_clang() {
    compile_all(Compiler::Clang, Language::Cxx, 44);
}

/// Every source of `tests/c/fail` for the compiler must fail to compile with the error that it
/// names.
fn refuse_all(compiler: Compiler, expected: usize) {
    if tools::find(compiler.name()).is_none() {
        return;
    }
    let mut configurations = 0;
    let mut complaints = Vec::new();
    for source in Source::all("tests/c/fail") {
        let is_cxx = source.path.extension().is_some_and(|extension| extension == "cc");
        let (language, standard) = if is_cxx { (Language::Cxx, "-std=gnu++17") } else { (Language::C, "-std=gnu11") };
        if !source.is_for(compiler, language) {
            continue;
        }
        configurations += 1;
        let mut command = compiler.command(language);
        command.args([standard, "-Wall", "-Wextra", "-Werror=format", "-c", "-o", "/dev/null"]).arg(&source.path);
        if compiler == Compiler::Gcc {
            command.arg("-Werror=format-signedness");
        }
        let (succeeded, said) = header::attempt(command.args(source.options()));
        let error = Regex::new(source.directive("error").expect("an error")).expect("a pattern");
        let mut errors = said.lines().filter(|line| line.contains("error:") || line.contains("Error:"));
        if succeeded || !errors.any(|line| error.is_match(line)) {
            complaints.push(format!("{}: {}: error: {error}\n{said}", source.path.display(), compiler.name()));
        }
    }
    assert!(complaints.is_empty(), "{} complaints\n{}", complaints.len(), complaints.join("\n"));
    assert_eq!(configurations, expected, "the configurations that ran; a new source makes it more");
}

#[test]
fn errors_of_gcc() {
    refuse_all(Compiler::Gcc, 33);
}

#[test]
fn errors_of_clang() {
    refuse_all(Compiler::Clang, 29);
}

/// The values that gdb reads from the operands of a kept marker at its address must be those of the
/// arguments.
fn read_kept(compiler: Compiler) {
    if tools::find(compiler.name()).is_none() || tools::find("gdb").is_none() {
        return;
    }
    let folder = TempDir::new().expect("a folder");
    let mut read = 0;
    // Debian puts headers that 64-bit and 32-bit share in a folder that -m32 does not search.
    const SHARED: &str = "-idirafter/usr/include/x86_64-linux-gnu";
    let builds = [("-O0", "-m64"), ("-O2", "-m64"), ("-O2", "-m32")].into_iter();
    let builds: Vec<_> = builds.filter(|(_, target)| header::links(&[compiler.name(), target, SHARED])).collect();
    for source in ["tests/c/keep.c", "tests/c/copies.c", "tests/c/probe.c"].map(Source::new) {
        for (level, target) in &builds {
            let build = Build { source: &source, compiler, language: Language::C, level, folder: folder.path() };
            let options = [target, "-no-pie", SHARED];
            let image = build.compile(&options).unwrap_or_else(|said| panic!("{}: {said}", build.name()));
            let hits = hits(Computer::Here, &image, folder.path());
            read += compare(&source, &hits, &format!("{} {target}", build.name()));
        }
    }
    // 25 in keep.c, 5 in copies.c and 13 in probe.c.
    assert_eq!(read, builds.len() * (25 + 5 + 13), "the values that were read");
}

/// Compares what gdb read with the `// values:` of a source. Returns the number of values.
pub(crate) fn compare(source: &Source, hits: &[Hit], what: &str) -> usize {
    let mut read = 0;
    for (name, expected) in values(source) {
        let found: Vec<_> = hits.iter().filter(|(hit, _)| *hit == name).map(|(_, values)| values).collect();
        let same = |(expected, found): (&Vec<String>, &&Vec<[String; 2]>)| {
            expected.len() == found.len()
                && expected.iter().zip(*found).all(|(expected, found)| {
                    let number = |text: &str| text.parse::<f64>().ok();
                    match expected.as_str() {
                        "*" => true,
                        text if text.starts_with('"') => text.trim_matches('"') == found[1],
                        text => number(text).is_some() && number(text) == number(&found[0]),
                    }
                })
        };
        assert!(
            found.len() == expected.len() && expected.iter().zip(&found).all(same),
            "{what}: values: {name}: {found:?} and not {expected:?}",
        );
        read += expected.iter().map(Vec::len).sum::<usize>();
    }
    read
}

/// The values for each name, in the expected order.
fn values(source: &Source) -> BTreeMap<String, Vec<Vec<String>>> {
    let mut values: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for line in source.directives("values") {
        let mut words = line.split(' ').map(str::to_owned);
        values.entry(words.next().expect("a name")).or_default().push(words.collect());
    }
    values
}

/// The name of a marker, and its values as numbers and as text.
pub(crate) type Hit = (String, Vec<[String; 2]>);

/// The markers with operands that an image passes, in order, as gdb reads them.
pub(crate) fn hits(computer: Computer, image: &Path, folder: &Path) -> Vec<Hit> {
    let (commands, socket) = (folder.join("commands"), folder.join("gdb"));
    let emulator = computer.emulator().split_first().map(|(emulator, options)| {
        let mut command = Command::new(emulator);
        command.args(options).arg("-g").arg(&socket).arg(image);
        command.spawn().expect("the emulator starts")
    });
    let mut script = "set pagination off\nset confirm off\nset print elements 0\n".to_owned();
    for site in fixture::sites(image).iter().filter(|site| site.flags & 2 != 0) {
        script += &format!("break *{:#x}\ncommands\nsilent\nprintf \"\\nkept {}\"\n", site.pc, site.name);
        for operand in site.operands.split(' ') {
            // Text is a pointer and a length.
            let operand = operand.split_once("+8@").map_or(operand, |(pointer, _)| pointer);
            if let Some(register) = bits_of_float(operand) {
                script += &format!("printf \" \"\noutput/f {register}\nprintf \"|\"\n");
                continue;
            }
            let (value, is_float, is_pointer) = expression(operand);
            script += &match (is_float, is_pointer) {
                (true, _) => format!("printf \" %.9g|\", {value}\n"),
                // Reads it as text only if it may be a pointer.
                (_, true) => {
                    format!(
                        "if {value} > 65536\nprintf \" %lld|%s\", {value}, (char *)({value})\nelse\nprintf \" %lld|\", {value}\nend\n"
                    )
                }
                _ => format!("printf \" %lld|\", {value}\n"),
            };
        }
        script += "printf \"\\n\"\ncontinue\nend\n";
    }
    match emulator {
        Some(_) => script += &format!("target remote {}\ncontinue\n", socket.display()),
        None => script += "run\n",
    }
    std::fs::write(&commands, script).expect("a file of commands");
    let printed = tools::run(Command::new(computer.gdb()).args(["-batch", "-nx", "-x"]).arg(&commands).arg(image));
    if let Some(mut emulator) = emulator {
        emulator.kill().expect("the emulator ends");
        emulator.wait().expect("the emulator ended");
    }
    let hits = printed.lines().filter_map(|line| line.strip_prefix("kept ")).map(|line| {
        let mut words = line.split(' ');
        let name = words.next().expect("a name").to_owned();
        let value = |word: &str| {
            let (number, text) = word.split_once('|').expect("a number and a text");
            [number.to_owned(), text.to_owned()]
        };
        (name, words.map(value).collect())
    });
    hits.collect()
}

/// The bits of a float in a general register, or as an immediate.
fn bits_of_float(entry: &str) -> Option<String> {
    let (size, operand) = entry.split_once("f@")?;
    let kind = if size == "4" { "int" } else { "long" };
    if let Some(number) = operand.strip_prefix('$') {
        return Some(format!("({kind}){number}"));
    }
    let register = operand.trim_start_matches('%');
    let is_general = register.starts_with(['r', 'e', 'x']) && !register.starts_with("xmm");
    is_general.then(|| format!("({kind})${register}"))
}

/// The gdb expression for `[-]SIZE[f]@OPERAND` in AT&T syntax; whether it is floating point, and
/// whether it may be a pointer.
fn expression(entry: &str) -> (String, bool, bool) {
    let (size, operand) = entry.split_once('@').expect("a size and an operand");
    let is_float = size.ends_with('f');
    let kind = match size {
        "1" => "unsigned char",
        "-1" => "signed char",
        "2" => "unsigned short",
        "-2" => "short",
        "4" => "unsigned int",
        "-4" => "int",
        "8" | "-8" => "long long",
        "4f" => "float",
        "8f" => "double",
        _ => panic!("{entry}?"),
    };
    let register = |name: &str| match name.strip_prefix("%r").and_then(|name| name.strip_suffix('b')) {
        Some(number) => format!("$r{number}l"),
        None => format!("${}", name.trim_start_matches('%')),
    };
    let value = if let Some(number) = operand.strip_prefix('$') {
        number.to_owned()
    } else if let Some((offset, address)) = operand.strip_suffix(')').and_then(|operand| operand.split_once('(')) {
        let mut parts = address.split(',');
        let base = match parts.next() {
            Some("%rip" | "") | None => String::new(),
            Some(base) => format!(" + (long){}", register(base)),
        };
        let index = parts.next().map(|index| format!(" + (long){} * {}", register(index), parts.next().unwrap_or("1")));
        let offset = match offset.parse::<i64>() {
            Ok(number) => number.to_string(),
            Err(_) if offset.is_empty() => "0".to_owned(),
            Err(_) => format!("(long)&{offset}"),
        };
        format!("*({kind} *)({offset}{base}{})", index.unwrap_or_default())
    } else if operand.starts_with('%') || operand.starts_with('x') {
        register(operand)
    } else {
        format!("*({kind} *)&{operand}")
    };
    let value = if is_float { format!("(double)({value})") } else { format!("(long long)({kind})({value})") };
    (value, is_float, matches!(size, "4" | "8"))
}

#[test]
fn gdb_reads_what_gcc_keeps() {
    read_kept(Compiler::Gcc);
}

#[test]
fn gdb_reads_what_clang_keeps() {
    read_kept(Compiler::Clang);
}
