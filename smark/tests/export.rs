//! `smark export`: where it writes, and what it never overwrites.

use std::fs;
use std::path::Path;
use std::process::Command;

use images::{notes, one};
use tools::{Ended, ended};

fn smark(folder: &Path, arguments: &[&str]) -> (i32, String, String) {
    let mut smark = Command::new(env!("CARGO_BIN_EXE_smark"));
    let Ended { status, stdout, stderr } = ended(smark.arg("export").args(arguments).current_dir(folder));
    (status, stdout, stderr)
}

#[test]
fn outputs_are_not_overwritten_unless_asked_and_inputs_never() {
    let folder = std::env::temp_dir().join(format!("smark-{}-export", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let image = one("a:b", "x %d", "x", "-4@%esi");
    let path = |name: &str| folder.join(name);
    fs::write(path("prog"), &image).unwrap();
    fs::write(path("there"), "there").unwrap();
    fs::hard_link(path("prog"), path("other-name")).unwrap();
    std::os::unix::fs::symlink("prog", path("link")).unwrap();

    let (status, out, err) = smark(&folder, &["--to", "uprobe", "./prog"]);
    assert_eq!((status, err.as_str()), (0, ""));
    assert!(out.contains(&format!("{}:0xc0 x=%si:s32\n", path("prog").canonicalize().unwrap().display())), "{out}");
    let (status, _, err) = smark(&folder, &["--to", "sdt", "./prog"]);
    assert_eq!((status, err.as_str()), (2, "smark: --to sdt writes a program: name it with -o FILE\n"));
    for to in ["sdt", "gdb"] {
        let (status, _, err) = smark(&folder, &["--to", to, "-o", "there", "./prog"]);
        assert_eq!((status, err.as_str()), (2, "smark: there: already exists (--force overwrites it)\n"));
        for input in ["prog", "other-name", "link", "./prog"] {
            let (status, _, err) = smark(&folder, &["--to", to, "--force", "-o", input, "./prog"]);
            assert_eq!((status, err), (2, format!("smark: {input}: is an input, and inputs are never overwritten\n")));
        }
        assert_eq!(smark(&folder, &["--to", to, "-o", &format!("new-{to}"), "./prog"]).0, 0);
        assert_eq!(smark(&folder, &["--to", to, "--force", "-o", "there", "./prog"]).0, 0);
        assert_eq!(fs::read(path("there")).unwrap(), fs::read(path(&format!("new-{to}"))).unwrap());
        fs::write(path("there"), "there").unwrap();
    }
    assert_eq!(fs::read(path("prog")).unwrap(), image);
    assert_eq!(notes(&fs::read(path("new-sdt")).unwrap()).len(), 1);
    // A device is never replaced by a file.
    for device in ["/dev/null", "/dev/stdout", "."] {
        let (status, _, err) = smark(&folder, &["--to", "gdb", "--force", "-o", device, "./prog"]);
        assert_eq!((status, err), (2, format!("smark: {device}: is not a regular file\n")));
    }
    // Addresses of one program are meaningless in another.
    fs::write(path("second"), &image).unwrap();
    let (status, out, err) = smark(&folder, &["--to", "gdb", "./prog", "./second"]);
    assert_eq!((status, out.as_str()), (2, ""));
    assert_eq!(err, "smark: a gdb command file is for one program, but 2 with selected markers were given\n");
    let (status, out, err) = smark(&folder, &["--to", "uprobe", "nothing:*", "./prog"]);
    assert_eq!((status, out.as_str()), (1, ""));
    assert!(err.contains("no marker matches `nothing:*`"), "{err}");
    // No intermediate file is left.
    let left = fs::read_dir(&folder)
        .unwrap()
        .filter(|entry| entry.as_ref().unwrap().file_name().to_string_lossy().starts_with('.'));
    assert_eq!(left.count(), 0);
    fs::remove_dir_all(&folder).unwrap();
}
