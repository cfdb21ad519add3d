//! What commands do on a terminal only: the pager and the progress. `script` is the terminal.

use std::fs;
use std::process::{Command, Output, Stdio};

use simple_markers_tests::{fixture, tools};

/// Runs a line of the shell on a terminal; its exit status and what the terminal shows.
fn on_terminal(line: &str, variables: &[(&str, &str)]) -> Option<(Option<i32>, String)> {
    let script = tools::find("script")?;
    let mut command = Command::new(script);
    command.args(["-qefc", line, "/dev/null"]).env("TERM", "xterm").env_remove("LESS").stdin(Stdio::null());
    command.env_remove("PAGER").env_remove("SMARK_PAGER").envs(variables.iter().copied());
    let Output { status, stdout, .. } = tools::output(&mut command);
    Some((status.code(), String::from_utf8_lossy(&stdout).replace("\r\n", "\n")))
}

fn smark(arguments: &str) -> String {
    format!("{} {arguments}", fixture::smark().display())
}

#[test]
fn text_goes_to_a_pager() {
    let folder = tempfile::tempdir().expect("a folder");
    let kept = folder.path().join("kept").display().to_string();
    let tee = format!("sh -c 'tee {kept} >/dev/null'");
    let explain = smark("explain SM034");
    let Some((status, shown)) = on_terminal(&explain, &[("SMARK_PAGER", &tee), ("PAGER", "false")]) else { return };
    assert_eq!((status, shown.as_str()), (Some(0), ""));
    let paged = fs::read_to_string(&kept).expect("what the pager got");
    assert!(paged.starts_with("SM034 lost"), "{paged}");
    let direct = on_terminal(&explain, &[("SMARK_PAGER", "cat")]);
    assert_eq!(direct, Some((Some(0), paged.clone())));
    // Options, an empty name, no terminal to speak of, and a pager that is not there.
    for (options, variables) in [
        ("--no-pager", &[("PAGER", &*tee)][..]),
        ("", &[("PAGER", "")]),
        ("", &[("PAGER", &tee), ("TERM", "dumb")]),
        ("", &[("PAGER", "/no/such/pager")]),
    ] {
        assert_eq!(on_terminal(&smark(&format!("explain {options} SM034")), variables), direct, "{variables:?}");
    }
    // Errors are in the pager too, and one that quits early is no error.
    let (status, shown) = on_terminal(&smark("explain SM999"), &[("PAGER", &tee)]).expect("a terminal");
    assert_eq!((status, shown.as_str()), (Some(1), ""));
    assert!(fs::read_to_string(&kept).expect("it").starts_with("smark: there is no code `SM999`"));
    let all = (0..40).map(|_| "SM034 ").collect::<String>();
    let quits = on_terminal(&smark(&format!("explain {all}")), &[("PAGER", "true")]);
    assert_eq!(quits, Some((Some(0), String::new())));
    // JSON is not for people, and colour is kept.
    let program = fixture::smark().display().to_string();
    let (_, shown) = on_terminal(&smark(&format!("list --json {program}")), &[("PAGER", &tee)]).expect("a terminal");
    assert!(shown.contains("\"schema\""), "{shown}");
}

#[test(desk = false)]
fn long_work_says_how_far_it_is() {
    let program = fixture::build(&["--package", "constructs"]).join("debug/constructs");
    let folder = tempfile::tempdir_in(fixture::target()).expect("a folder");
    let line = smark(&format!("list -r -f x {} >/dev/null", folder.path().display()));
    let says = |shown: &str| shown.matches(" files read, ").count();
    // How many files are more than a second's work depends on the machine.
    let mut files = 0;
    let long = [25, 100, 400, 1600].into_iter().find_map(|most| {
        while files < most {
            fs::hard_link(&program, folder.path().join(files.to_string())).expect("a link");
            files += 1;
        }
        let (_, shown) = on_terminal(&line, &[])?;
        (says(&shown) > 0).then_some(shown)
    });
    let Some(shown) = long else {
        return assert!(tools::find("script").is_none(), "nothing is said of 1,600 files");
    };
    let seconds = shown.rsplit(" files read, ").next().and_then(|rest| rest.split(' ').next()?.parse::<usize>().ok());
    assert!(says(&shown) <= 4 * seconds.unwrap_or(0) + 4, "{shown}");
    assert!(shown.contains("\x1b[K"), "the line is removed: {shown}");
    let quiet = line.replace("list", "list -q");
    assert_eq!(says(&on_terminal(&quiet, &[]).expect("a terminal").1), 0);
    assert_eq!(says(&on_terminal(&format!("{line} 2>&1 | cat"), &[]).expect("a terminal").1), 0);
}
