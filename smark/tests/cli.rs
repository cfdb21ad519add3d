//! The command: its output on each stream, and its exit status.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use images::{Linked, declaration, scsi};
use simple_markers_resolver::record::DECLARATIONS;
use tools::{Ended, ended};

/// A folder of files that is removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("smark-{}-{name}", std::process::id()));
        fs::create_dir_all(path.join("sub")).unwrap();
        fs::write(path.join("scsi_mod.ko"), scsi().build()).unwrap();
        fs::write(path.join("sub/other"), scsi().build()).unwrap();
        fs::write(path.join("plain"), Linked::new().build()).unwrap();
        fs::write(path.join("text"), "hello").unwrap();
        let bad = Linked::new().section(DECLARATIONS, b"a:b\0f.c\x00x\0\0\0".to_vec());
        fs::write(path.join("bad"), bad.build()).unwrap();
        Self(path)
    }

    /// Runs `smark` in the folder. Returns exit status, standard output and standard error.
    fn smark(&self, command: &str, arguments: &[&str]) -> (i32, String, String) {
        let mut smark = Command::new(env!("CARGO_BIN_EXE_smark"));
        let Ended { status, stdout, stderr } = ended(smark.arg(command).args(arguments).current_dir(&self.0));
        (status, stdout, stderr)
    }

    fn list(&self, arguments: &[&str]) -> (i32, String, String) {
        self.smark("list", arguments)
    }

    fn show(&self, arguments: &[&str]) -> (i32, String, String) {
        self.smark("show", arguments)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn exit_status_and_messages() {
    let folder = Folder::new("status");
    let (status, out, err) = folder.list(&["scsi_mod.ko"]);
    assert_eq!((status, out.lines().count(), err.as_str()), (0, 6, ""));

    let (status, out, err) = folder.list(&["plain"]);
    assert_eq!((status, out.as_str(), err.as_str()), (0, "", "smark: plain: no markers\n"));
    assert_eq!(folder.list(&["-q", "plain"]), (0, String::new(), String::new()));

    let (status, out, err) = folder.list(&["text", "scsi_mod.ko", "./nothing", "sub"]);
    assert_eq!((status, out.lines().count()), (2, 6));
    assert_eq!(
        err,
        "smark: text: not an ELF file\nsmark: ./nothing: no such file or directory\nsmark: sub: is a folder (-r searches it)\n"
    );

    let (status, _, err) = folder.list(&["bad"]);
    assert_eq!((status, err.as_str()), (2, "smark: bad: __simple_marker.1 at 0x0: line is not a number\n"));

    let (status, out, err) = folder.list(&["scsi:qeue", "scsi_mod.ko"]);
    assert_eq!((status, out.as_str()), (1, ""));
    assert_eq!(
        err,
        "smark: no marker matches `scsi:qeue` (and there is no file of that name); closest: scsi:queue, scsi:dead, scsi:gone\n"
    );
    let (status, _, err) = folder.list(&["scsi:dead", "-f", "g", "scsi_mod.ko"]);
    assert_eq!((status, err.as_str()), (1, "smark: no marker matches all the patterns\n"));
    let (status, _, err) = folder.list(&["-f", "main", "-n", "scsi:*", "scsi_mod.ko"]);
    assert_eq!((status, err.as_str()), (1, "smark: no function matches `main`; closest: f, g\n"));

    let (status, _, err) = folder.list(&["nothing"]);
    assert_eq!(status, 2);
    assert_eq!(err, "smark: no FILE given: `nothing` is not an existing file, so it was taken as a PATTERN\n");
    assert_eq!(folder.list(&[]).0, 2);
    assert_eq!(folder.list(&["--nonsense"]).0, 2);
    assert_eq!(folder.list(&["a[", "scsi_mod.ko"]).0, 2);
}

#[test]
fn rows_keep_their_numbers_and_folders_their_order() {
    let folder = Folder::new("order");
    let (status, out, _) = folder.list(&["scsi:alone", "scsi_mod.ko", "sub/other"]);
    assert_eq!(status, 0);
    let ids: Vec<_> = out.lines().skip(1).map(|line| line.trim_start().split(' ').next().unwrap()).collect();
    assert_eq!(ids, ["5", "10"]);

    let (status, out, err) = folder.list(&["-r", "."]);
    assert_eq!((status, err.as_str()), (2, "smark: ./bad: __simple_marker.1 at 0x0: line is not a number\n"));
    let modules: Vec<_> = out.lines().skip(1).map(|line| line.split_whitespace().nth(1).unwrap()).collect();
    assert_eq!(modules, [["scsi_mod"; 5], ["other"; 5]].concat());
}

#[cfg(unix)]
#[test]
fn links_inside_folders_are_not_followed() {
    let folder = Folder::new("links");
    std::os::unix::fs::symlink("..", folder.0.join("sub/up")).unwrap();
    std::os::unix::fs::symlink("other", folder.0.join("sub/again")).unwrap();
    let (status, out, err) = folder.list(&["-r", "sub"]);
    assert_eq!((status, out.lines().count(), err.as_str()), (0, 6, ""));
}

#[test]
fn json_is_filtered_by_patterns() {
    let folder = Folder::new("json");
    let (status, out, _) = folder.list(&["--json", "-f", "f", "scsi_mod.ko"]);
    assert_eq!(status, 0);
    let json: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(json["images"][0]["markers"].as_array().unwrap().len(), 1);
    // A marker is shown completely: three sites, two of them in `f`.
    assert_eq!(json["images"][0]["markers"][0]["sites"].as_array().unwrap().len(), 3);
}

#[test]
fn colour_is_asked_for() {
    let folder = Folder::new("colour");
    assert!(!folder.list(&["scsi_mod.ko"]).1.contains('\u{1b}'));
    assert!(folder.list(&["--color", "always", "scsi_mod.ko"]).1.contains("\u{1b}[1mscsi:queue\u{1b}[0m"));
}

#[test]
fn a_closed_pipe_is_no_error() {
    let folder = Folder::new("pipe");
    for arguments in [&["list"][..], &["list", "--json"], &["show", "*"], &["show", "--json", "*"]] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_smark"));
        // Enough rows to fill a pipe.
        let files = vec!["scsi_mod.ko"; 2000];
        let command = command.args(arguments).args(files).current_dir(&folder.0);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        let printed = (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned());
        assert_eq!(printed, (Some(0), String::new()), "{arguments:?}");
    }
}

#[test]
fn show_ends_as_list_does() {
    let folder = Folder::new("show");
    let (status, out, err) = folder.show(&["scsi:alone", "scsi_mod.ko", "sub/other"]);
    assert_eq!((status, err.as_str()), (0, ""));
    let ids: Vec<_> = out.lines().filter_map(|line| line.strip_prefix("  id")).map(str::trim).collect();
    assert_eq!(ids, ["5", "10"]);

    let (status, out, err) = folder.show(&["scsi:qeue", "scsi:alone", "scsi_mod.ko"]);
    assert_eq!((status, out.lines().next()), (1, Some("scsi:alone")));
    assert_eq!(
        err,
        "smark: no marker matches `scsi:qeue` (and there is no file of that name); closest: scsi:queue, scsi:dead, scsi:gone\n"
    );
    let (status, out, err) = folder.show(&["scsi:dead", "-f", "g", "scsi_mod.ko"]);
    assert_eq!((status, out.as_str(), err.as_str()), (1, "", "smark: no marker matches all the patterns\n"));

    let (status, out, err) = folder.show(&["scsi:alone", "scsi_mod.ko", "./nothing", "text", "bad"]);
    assert_eq!((status, out.lines().next()), (2, Some("scsi:alone")));
    assert_eq!(
        err,
        "smark: ./nothing: no such file or directory\nsmark: text: not an ELF file\n\
         smark: bad: __simple_marker.1 at 0x0: line is not a number\n"
    );
    // A file that cannot be read is worse than a pattern that matches nothing.
    assert_eq!(folder.show(&["scsi:qeue", "bad"]).0, 2);

    let (status, out, err) = folder.show(&["nothing"]);
    assert_eq!((status, out.as_str()), (2, ""));
    assert_eq!(err, "smark: no FILE given: `nothing` is not an existing file, so it was taken as a PATTERN\n");
    let (status, out, err) = folder.show(&["scsi_mod.ko"]);
    assert_eq!((status, out.as_str()), (2, ""));
    assert_eq!(err, "smark: no NAME given: `smark show '*' FILE` shows all markers, `smark list FILE` lists them\n");
    assert_eq!(folder.show(&[]).0, 2);
    assert_eq!(folder.show(&["a[", "scsi_mod.ko"]).0, 2);
    assert_eq!(folder.show(&["-x", "a", "scsi_mod.ko"]).0, 2);
}

#[test]
fn show_chooses_by_options_and_shows_markers_whole() {
    let folder = Folder::new("choose");
    for arguments in
        [&["-f", "f", "scsi_mod.ko"][..], &["-n", "scsi:queue", "scsi_mod.ko"], &["-r", "scsi:q*", "-m", "other", "."]]
    {
        let (_, out, _) = folder.show(arguments);
        let sites: Vec<_> = out.lines().filter(|line| line.starts_with("  site ")).collect();
        assert_eq!(sites, ["  site 1 of 3  g+0x10", "  site 2 of 3  f+0x8", "  site 3 of 3  f+0x10"], "{arguments:?}");
    }
    let all = folder.show(&["*", "scsi_mod.ko"]).1;
    assert_eq!(all.lines().filter(|line| line.starts_with("scsi:")).count(), 4);
    assert!(!all.contains('\u{1b}'));
    assert!(folder.show(&["--color", "always", "*", "scsi_mod.ko"]).1.contains("\u{1b}[31mdiscarded SM002: "));
    // The same document as for a list.
    let (status, json, _) = folder.show(&["--json", "scsi:dead", "scsi_mod.ko"]);
    assert_eq!((status, json), (0, folder.list(&["--json", "scsi:dead", "scsi_mod.ko"]).1));
}

#[test]
fn the_source_line_is_shown_where_it_is_at_hand() {
    let folder = Folder::new("source");
    let shown = |name: &str| {
        let (status, out, err) = folder.show(&[name, "scsi_mod.ko"]);
        assert_eq!((status, err.as_str()), (0, ""));
        out.lines().skip(2).take_while(|line| !line.starts_with("  format")).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(shown("scsi:queue"), [""; 0]);
    let source = folder.0.join("scsi.c");
    // The marker on line 10 is in column 5; line 40 is past the end of the file.
    fs::write(&source, format!("{}\t\t\t\tsimple_mark(scsi:queue);\r\n\n", "\n".repeat(9))).unwrap();
    let image = fs::File::open(folder.0.join("scsi_mod.ko")).unwrap();
    let built = image.metadata().unwrap().modified().unwrap();
    let set = |time| fs::File::options().append(true).open(&source).unwrap().set_modified(time).unwrap();
    set(built);
    let (line, caret) = ("               10 | simple_mark(scsi:queue);", "                  | ^^^^^^^^^^^");
    assert_eq!(shown("scsi:queue"), [line, caret]);
    assert_eq!(shown("scsi:alone"), [""; 0]);
    set(built + std::time::Duration::from_secs(1));
    let note = "               (the file was changed after the image was built, this may be another line)";
    assert_eq!(shown("scsi:queue"), [line, caret, note]);
    // A file that is too large, or not a regular file, is not read.
    fs::File::options().append(true).open(&source).unwrap().set_len((4 << 20) + 1).unwrap();
    assert_eq!(shown("scsi:queue"), [""; 0]);
    fs::remove_file(&source).unwrap();
    fs::create_dir(&source).unwrap();
    assert_eq!(shown("scsi:queue"), [""; 0]);
}

#[test]
fn a_hostile_image_moves_no_cursor() {
    let folder = Folder::new("hostile");
    let text = "a\u{1b}[2J\u{7}\u{9b}\u{202e}b\rc";
    let record = declaration(text, text, 1, text, text);
    fs::write(folder.0.join("evil"), Linked::new().section(DECLARATIONS, record).build()).unwrap();
    for (command, arguments) in
        [("list", &["evil"][..]), ("list", &["-v", "evil"]), ("show", &["*", "evil"]), ("show", &["x", "evil"])]
    {
        let (_, out, err) = folder.smark(command, arguments);
        assert!(
            (out.clone() + &err).contains("a\\x1b[2J\\x07\\u{9b}\\u{202e}b\\rc"),
            "{command} {arguments:?}: {out}{err}"
        );
        let obeyed = |c: char| c.is_control() && c != '\n' || c == '\u{202e}';
        assert!(!out.contains(obeyed) && !err.contains(obeyed), "{command} {arguments:?}: {out:?}{err:?}");
    }
}

#[test]
fn help_has_examples() {
    for command in ["list", "show"] {
        let help = Command::new(env!("CARGO_BIN_EXE_smark")).args([command, "--help"]).output().unwrap();
        let help = String::from_utf8(help.stdout).unwrap();
        assert!(help.contains("EXAMPLES\n") && help.contains("EXIT STATUS\n"), "{help}");
    }
    let version = Command::new(env!("CARGO_BIN_EXE_smark")).arg("--version").output().unwrap();
    assert_eq!(String::from_utf8(version.stdout).unwrap(), format!("smark {}\n", env!("CARGO_PKG_VERSION")));
}

/// The crate `smark` of the registry is another project.
#[test]
fn documents_install_this_package() {
    let command = concat!("cargo install --locked ", env!("CARGO_PKG_NAME"));
    for file in ["README.md", "docs/guide.md", "docs/ci.md", "docs/ci/github.yml"] {
        let text = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../").to_owned() + file).unwrap();
        let installed: Vec<&str> = text
            .match_indices("cargo install ")
            .filter_map(|(at, _)| text[at..].split(['`', '\n', '#', ',']).next())
            .map(str::trim_end)
            .filter(|command| !command.contains("--path "))
            .collect();
        assert!(installed.contains(&command), "{file}: {installed:?}");
        assert!(
            installed.iter().all(|it| it.ends_with(&format!(" {}", env!("CARGO_PKG_NAME")))),
            "{file}: {installed:?}"
        );
    }
}

#[test]
fn codes_are_explained() {
    let folder = Folder::new("explain");
    let (status, text, err) = folder.smark("explain", &["sm034"]);
    assert_eq!((status, err.as_str()), (0, ""));
    assert!(text.starts_with("SM034 lost (arguments)\n\n") && text.contains("\nFix: "), "{text}");
    assert_eq!(folder.smark("explain", &["lost"]).1, text);
    assert_eq!(folder.smark("explain", &["lost", "SM020"]).1.lines().filter(|line| line.starts_with("SM0")).count(), 2);

    // A reason, alone and behind its code.
    let (status, reason, _) = folder.smark("explain", &["begins_here"]);
    assert!(
        status == 0 && reason.starts_with("SM038.begins_here: ") && reason.contains(" in generated programs"),
        "{reason}"
    );
    assert_eq!(folder.smark("explain", &["doubtful.Begins_Here"]).1, reason);
    let (_, doubtful, _) = folder.smark("explain", &["SM038"]);
    let rates = doubtful.lines().filter(|line| line.trim().starts_with("begins_here ")).count();
    assert!(doubtful.starts_with("SM038 doubtful") && rates >= 1, "{doubtful}");
    assert_eq!(folder.smark("explain", &["SM034.begins_here"]).0, 1);

    let (status, all, _) = folder.smark("explain", &[]);
    let first = |line: &str| line.split(' ').next().map(str::to_owned);
    let codes: Vec<_> = all.lines().filter_map(first).collect();
    assert_eq!(status, 0);
    assert_eq!(
        codes,
        simple_markers_resolver::verdicts::EXPLANATIONS.iter().map(|one| one.code.as_str()).collect::<Vec<_>>()
    );

    let (status, text, err) = folder.smark("explain", &["SM999"]);
    assert_eq!((status, text.as_str()), (1, ""));
    assert_eq!(err, "smark: there is no code `SM999`; `smark explain` lists them\n");
}

#[test]
fn completions_and_manual_pages_name_every_command() {
    let folder = Folder::new("manual");
    let commands = ["list", "show", "explain", "completions", "man"];
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let (status, text, _) = folder.smark("completions", &[shell]);
        assert_eq!(status, 0);
        assert!(commands.iter().all(|command| text.contains(command)), "{shell}");
    }
    let (status, text, _) = folder.smark("man", &[]);
    assert_eq!(status, 0);
    assert!(
        text.contains(".TH smark 1") && commands.iter().all(|command| text.contains(&format!("smark\\-{command}"))),
        "{text}"
    );

    assert_eq!(folder.smark("man", &["--folder", "sub"]), (0, String::new(), String::new()));
    for command in commands {
        let page = fs::read_to_string(folder.0.join(format!("sub/smark-{command}.1"))).unwrap();
        assert!(page.contains("EXAMPLES"), "{command}");
    }
}

#[test]
fn completions_and_pages_of_cargo_smark_have_the_options_of_both() {
    let folder = Folder::new("cargo-manual");
    for (shell, head) in
        [("bash", "_cargo__smark()"), ("zsh", "#compdef cargo-smark"), ("fish", "complete -c cargo-smark")]
    {
        let (status, text, _) = folder.smark("completions", &["--cargo", shell]);
        let has =
            ["fix", "export", "manifest-path", "all-features", "debug-dir", "lock"].map(|word| text.contains(word));
        assert!(status == 0 && text.contains(head) && has == [true; 6], "{shell}");
    }
    let (status, text, _) = folder.smark("man", &["--cargo"]);
    assert!(status == 0 && text.contains(".TH cargo-smark 1") && text.contains("cargo\\-smark\\-fix"), "{text}");
    assert_eq!(folder.smark("man", &["--folder", "sub"]).0, 0);
    let page = fs::read_to_string(folder.0.join("sub/cargo-smark-check.1")).unwrap();
    // `-r` and `--profile` are cargo's, `--lock` is smark's.
    let options = [
        "\\fB\\-r\\fR, \\fB\\-\\-release\\fR",
        "\\fB\\-\\-recursive\\fR",
        "Build with this profile",
        "\\fB\\-\\-lock\\fR",
    ];
    assert_eq!(options.map(|option| page.contains(option)), [true; 4], "{page}");
}

#[test]
fn settings_hold_where_no_option_says_something_else() {
    let folder = Folder::new("settings");
    let (status, text, err) = folder.smark("config", &[]);
    assert_eq!((status, err.as_str()), (0, ""));
    let values: Vec<&str> =
        text.lines().filter_map(|line| line.split_once(" # ")).map(|(value, _)| value.trim()).collect();
    let defaults = [
        "deny = []",
        "warn = []",
        "allow = []",
        "debug-dir = [\"/usr/lib/debug\"]",
        "# no lock",
        "profile = \"default\"",
        "views = []",
    ];
    assert_eq!(values, defaults);

    // The lost arguments of this module are errors, so it needs the setting.
    assert_eq!(folder.smark("check", &["scsi_mod.ko"]).0, 1);
    fs::write(folder.0.join("smark.toml"), "lock = \"markers.lock\"\nallow = [\"all\"]\n").unwrap();
    let (status, text, err) = folder.smark("check", &["--update", "scsi_mod.ko"]);
    assert_eq!(status, 0, "{text}{err}");
    assert!(fs::read_to_string(folder.0.join("markers.lock")).unwrap().contains("name = \"default\""));
    assert_eq!(folder.smark("check", &["--deny", "all", "scsi_mod.ko"]).0, 1);
    assert_eq!(folder.smark("check", &["--settings", "none", "scsi_mod.ko"]).0, 1);

    let (status, quiet, err) = folder.smark("check", &["scsi_mod.ko"]);
    assert_eq!((status, err.as_str()), (0, ""));
    let (status, text, err) =
        folder.smark("check", &["-v", "--profile", "default", "--debug-dir", "dbg", "scsi_mod.ko"]);
    assert_eq!((status, text), (0, quiet));
    let said: Vec<String> =
        err.lines().map(|line| line.split(' ').filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")).collect();
    let expected = [
        "smark: deny = [] # default",
        "smark: warn = [] # default",
        "smark: allow = [\"all\"] # smark.toml:2",
        "smark: debug-dir = [\"dbg\"] # --debug-dir",
        "smark: lock = \"markers.lock\" # smark.toml:1",
        "smark: profile = \"default\" # --profile",
        "smark: views = [] # default",
        "smark: scsi_mod.ko: no debug information was found",
    ];
    assert_eq!(said, expected);
    let (status, _, err) = folder.show(&["-v", "scsi:*", "scsi_mod.ko"]);
    assert_eq!((status, err.as_str()), (0, "smark: scsi_mod.ko: no debug information was found\n"));
    assert_eq!(folder.show(&["-v", "-q", "scsi:*", "scsi_mod.ko"]).2, "");

    let sub =
        Command::new(env!("CARGO_BIN_EXE_smark")).args(["config", "--json"]).current_dir(folder.0.join("sub")).output();
    let shown: serde_json::Value = serde_json::from_slice(&sub.unwrap().stdout).unwrap();
    let file = folder.0.join("smark.toml").display().to_string();
    assert_eq!((&shown["file"], &shown["settings"]["allow"]["line"]), (&file.into(), &2.into()), "{shown}");
    let lock = folder.0.join("markers.lock").display().to_string();
    assert_eq!(shown["settings"]["lock"], serde_json::json!({ "value": lock, "line": 1 }));
    assert_eq!(shown["settings"]["profile"], serde_json::json!({ "value": "default", "line": null }));
    // What is printed is a file of settings.
    let (_, text, _) = folder.smark("config", &[]);
    fs::write(folder.0.join("sub/smark.toml"), text).unwrap();
    assert_eq!(folder.smark("config", &["--settings", "sub/smark.toml"]).0, 0);

    for (file, settings, expected) in [
        ("smark.toml", "lcok = \"x\"\n", "smark.toml:1:1: there is no setting `lcok`; closest: lock"),
        ("Cargo.toml", "[package.metadata.smark]\ndeny = 3\n", "Cargo.toml:2:8: `deny` must be a list of strings"),
    ] {
        let _ = fs::remove_file(folder.0.join("smark.toml"));
        fs::write(folder.0.join(file), settings).unwrap();
        for command in ["list", "check"] {
            let (status, out, err) = folder.smark(command, &["scsi_mod.ko"]);
            assert_eq!((status, out.as_str(), err), (2, "", format!("smark: {expected}\n")));
        }
        assert_eq!(folder.smark("explain", &["SM034"]).0, 0);
    }
    let (status, _, err) = folder.smark("check", &["--settings", "none", "--update", "scsi_mod.ko"]);
    assert!(status == 2 && err.contains("name it with --lock FILE"), "{err}");
}

#[test]
fn the_help_of_watching_has_headings() {
    let folder = Folder::new("help");
    for (command, last) in [("trace", "--stack"), ("count", "--key"), ("record", "--until")] {
        let (status, long, _) = folder.smark(command, &["--help"]);
        let place = |words: &str| long.find(words).unwrap_or_else(|| panic!("{command}: no {words}"));
        let headings =
            ["\nOptions:\n", "\nWhat to watch:\n", "\nHow to watch:\n", "\nWhat to print or write:\n"].map(place);
        assert!(status == 0 && headings.is_sorted(), "{long}");
        assert!(place(last) < headings[1] && place("--include <KIND>") > headings[1], "{long}");
        assert!(place("--engine <ENGINE>") > headings[2] && place("--limit <N>") < headings[1], "{long}");
        let (_, short, _) = folder.smark(command, &["-h"]);
        assert!(short.contains("--limit") && !short.contains("--engine") && !short.contains("--include"), "{short}");
    }
    assert!(folder.smark("trace", &["--help"]).1.contains("each site whose hits may not be the marker's passes"));
}

#[cfg(not(feature = "view"))]
#[test]
fn what_was_left_out_says_how_to_get_it() {
    let folder = Folder::new("view");
    let (status, out, err) = folder.smark("view", &["trace"]);
    let said =
        "smark: view: this smark was built without it; cargo install with --features view builds one that has it\n";
    assert_eq!((status, out.as_str(), err.as_str()), (2, "", said));
}
